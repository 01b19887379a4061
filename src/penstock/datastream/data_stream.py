"""The fluent classes under PyFlink's module path."""

from penstock.datastream.async_data_stream import AsyncDataStream
from penstock.datastream.broadcast_connected_stream import BroadcastConnectedStream
from penstock.datastream.broadcast_stream import BroadcastStream
from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.datastream.connected_streams import ConnectedStreams
from penstock.datastream.data_stream_sink import DataStreamSink
from penstock.datastream.interval_join import IntervalJoin, IntervalJoined
from penstock.datastream.iterative_stream import IterativeStream
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.split_stream import SplitStream
from penstock.datastream.stream import DataStream
from penstock.datastream.windowed_joins import CoGroupedStreams, JoinedStreams
from penstock.datastream.windowed_stream import AllWindowedStream, WindowedStream

__all__ = [
    "AllWindowedStream",
    "AsyncDataStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CloseableIterator",
    "CoGroupedStreams",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "IntervalJoin",
    "IntervalJoined",
    "IterativeStream",
    "JoinedStreams",
    "KeyedStream",
    "SplitStream",
    "WindowedStream",
]
