"""The fluent classes under PyFlink's module path."""

from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.datastream.connected_streams import ConnectedStreams
from penstock.datastream.data_stream_sink import DataStreamSink
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.split_stream import SplitStream
from penstock.datastream.stream import DataStream

__all__ = [
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "SplitStream",
]
