"""Streams, and what can be done with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from penstock.common import (
    Duration,
    ExecutionConfig,
    Time,
    TypeInformation,
    Types,
    WatermarkStrategy,
)
from penstock.common.time import to_milliseconds
from penstock.common.typeinfo import TupleTypeInfo
from penstock.core.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputSelector,
    Partitioner,
    ProcessFunction,
)
from penstock.core.output_tag import OutputTag
from penstock.core.state import MapStateDescriptor
from penstock.core.windowing import WindowAssigner
from penstock.datastream.key_selection import make_key_selector
from penstock.datastream.operator_settings import OperatorSettings
from penstock.datastream.stream_sinks import StreamSinks
from penstock.datastream.stream_types import type_of
from penstock.datastream.window_shapes import count_window_parts, time_window_assigner
from penstock.datastream.windowed_joins import CoGroupedStreams, JoinedStreams
from penstock.datastream.windowed_stream import AllWindowedStream, same_key
from penstock.errors import GraphError, NotKeyedError
from penstock.graph.call_site import capture_call_site
from penstock.graph.fields import Field, Projection
from penstock.graph.function_checks import (
    require_arguments,
    require_function,
    require_no_generator,
    require_object,
)
from penstock.graph.specs import (
    Broadcast,
    Custom,
    FilterSpec,
    FlatMapSpec,
    Forward,
    Global,
    MapSpec,
    OperatorSpec,
    ProcessSpec,
    Rebalance,
    Rescale,
    Shuffle,
    TimestampsSpec,
)
from penstock.graph.specs import Partitioner as PartitionerSpec
from penstock.graph.transformations import (
    ChainingStrategy,
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
)

if TYPE_CHECKING:
    from penstock.datastream.broadcast_connected_stream import BroadcastConnectedStream
    from penstock.datastream.broadcast_stream import BroadcastStream
    from penstock.datastream.connected_streams import ConnectedStreams
    from penstock.datastream.iterative_stream import IterativeStream
    from penstock.datastream.keyed_stream import KeyedStream
    from penstock.datastream.split_stream import SplitStream
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment


#: What only a keyed stream has.
_KEYED_ONLY = frozenset(
    ("window", "time_window", "count_window", "reduce", "fold", "sum", "min", "max", "min_by",
     "max_by", "interval_join", "map_with_state", "flat_map_with_state", "filter_with_state")
)  # fmt: skip


class DataStream(StreamSinks, OperatorSettings):
    """A stream of records of one type.

    >>> from penstock.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> words = env.from_collection(["to be", "or not"]).flat_map(lambda line: line.split())
    >>> words.get_name()
    'FlatMap'
    """

    #: Whether functions of this stream work under a key.
    _keyed = False

    def __init__(
        self, environment: StreamExecutionEnvironment, transformation: Transformation
    ) -> None:
        self._environment = environment
        self._transformation = transformation

    def __getattr__(self, name: str) -> Any:
        # Asked only for what is not there. Named here, a slip is told from a misspelt method.
        if name in _KEYED_ONLY:
            instead = f", or {name}_all(...)" if hasattr(type(self), f"{name}_all") else ""
            raise NotKeyedError(
                f"{name}() needs a keyed stream",
                where=str(capture_call_site()),
                got=f"a {type(self).__name__} that is not keyed",
                todo=f"call key_by(...) first{instead}",
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ---- what the stream is -------------------------------------------------------------------

    def get_name(self) -> str:
        """Return the name of the operator behind this stream."""
        return self._operator("get_name()").name

    def get_type(self) -> TypeInformation:
        """Return the type of the records.

        It is the declared one, else what the annotations of the function say, else that of pickled
        objects. Only a declared type has an effect on records.
        """
        return type_of(self._transformation) or Types.PICKLED_BYTE_ARRAY()

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment that the stream belongs to."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """Return the settings of the environment."""
        return self._environment.get_config()

    def force_non_parallel(self) -> DataStream:
        """Run this operator in one subtask, whatever the environment says."""
        self._operator("force_non_parallel()").force_non_parallel()
        return self

    def start_new_chain(self) -> DataStream:
        """Begin a new chain with this operator."""
        self._operator("start_new_chain()").chaining = ChainingStrategy.HEAD
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> DataStream:
        """Accept Flink's flush interval of one operator.

        Kept with the operator but without effect: records leave an operator with their batch.
        """
        self._operator("set_buffer_timeout()").buffer_timeout = timeout_millis
        return self

    def cache(self) -> DataStream:
        """Accept Flink's hint that a later job will read the result of this operator again.

        Without effect on results: a later `execute` computes the stream again from its sources.
        """
        self._operator("cache()")
        return self

    # ---- one record at a time -----------------------------------------------------------------

    def map(
        self,
        func: Callable[[Any], Any] | MapFunction[Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Turn every record into one other.

        :param func: a function of one record, or a MapFunction.
        :param output_type: type of the results; pickled objects if left out.
        """
        require_function("map()", func, MapFunction)
        require_arguments("the function of map()", func, map=1)
        require_no_generator("map()", func, "map")
        return self._transform("Map", MapSpec(func, keyed=self._keyed), output_type)

    def flat_map(
        self,
        func: Callable[[Any], Any] | FlatMapFunction[Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Turn every record into any number of others.

        :param func: a function that returns or yields the results, or a FlatMapFunction.
        :param output_type: type of the results; pickled objects if left out.
        """
        require_function("flat_map()", func, FlatMapFunction)
        require_arguments("the function of flat_map()", func, flat_map=1)
        return self._transform("FlatMap", FlatMapSpec(func, keyed=self._keyed), output_type)

    def filter(self, func: Callable[[Any], Any] | FilterFunction[Any]) -> DataStream:
        """Keep the records for which `func` is true."""
        require_function("filter()", func, FilterFunction)
        require_arguments("the function of filter()", func, filter=1)
        require_no_generator("filter()", func, "filter")
        return self._transform(
            "Filter", FilterSpec(func, keyed=self._keyed), self._transformation.output_type
        )

    def process(
        self, func: ProcessFunction[Any], output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call a ProcessFunction for every record; it may yield results and side outputs."""
        if isinstance(func, KeyedProcessFunction):
            raise NotKeyedError(
                "process() with a KeyedProcessFunction needs a keyed stream",
                where=str(capture_call_site()),
                got="a DataStream that is not keyed",
                todo="call key_by(...) first, or pass a ProcessFunction",
            )
        require_object("process()", func, ProcessFunction)
        require_arguments("process()", func, process_element=2)
        return self._transform("Process", ProcessSpec(func), output_type)

    def project(self, *field_indexes: Field) -> DataStream:
        """Keep some fields of every record, in the given order, as a tuple."""
        if not field_indexes:
            raise GraphError(
                "project() needs at least one field",
                where=str(capture_call_site()),
                todo="pass the positions or names of the fields to keep",
            )
        return self._transform(
            "Projection", MapSpec(Projection(field_indexes)), self._projected_type(field_indexes)
        )

    def _projected_type(self, fields: tuple[Field, ...]) -> TypeInformation | None:
        declared = self._transformation.output_type
        if not isinstance(declared, TupleTypeInfo):
            return None
        types = declared.get_field_types()
        known = [types[f] for f in fields if isinstance(f, int) and f < len(types)]
        return Types.TUPLE(known) if len(known) == len(fields) else None

    def assign_timestamps_and_watermarks(
        self, watermark_strategy: WatermarkStrategy | Any
    ) -> DataStream:
        """Give every record a timestamp, and the stream watermarks.

        :param watermark_strategy: a WatermarkStrategy, or one of the classic assigners.
        """
        strategy = watermark_strategy
        if not isinstance(strategy, WatermarkStrategy):
            strategy = WatermarkStrategy.for_assigner(strategy)
        return self._transform(
            "Timestamps/Watermarks", TimestampsSpec(strategy), self._transformation.output_type
        )

    def assign_ascending_timestamps(self, extractor: Callable[[Any], int]) -> DataStream:
        """Give every record a timestamp in milliseconds, from records that come in order."""
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        return self.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(extractor))

    def iterate(self, max_wait_time: int | Time | Duration = 0) -> IterativeStream:
        """Begin an iteration: `close_with` sends records back to the stream that is returned.

        It ends when all sources have ended and nothing has come back for `max_wait_time`.

        :param max_wait_time: milliseconds or a span.
        """
        return iterative_stream.IterativeStream(self, to_milliseconds(max_wait_time))

    # ---- several streams ----------------------------------------------------------------------

    def union(self, *streams: DataStream) -> DataStream:
        """Put streams of the same type together."""
        for stream in streams:
            self._require_same_environment("union()", stream)
            self._require_same_type(stream)
        inputs = [self._transformation, *(stream._transformation for stream in streams)]
        united = UnionTransformation(inputs, self._transformation.output_type)
        return DataStream(self._environment, united)

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    def connect(
        self, ds: DataStream | BroadcastStream
    ) -> ConnectedStreams | BroadcastConnectedStream:
        """Pair this stream with another, of any type, for functions of two inputs.

        :param ds: a stream, or what `broadcast(descriptor, ...)` returned.
        """
        if isinstance(ds, broadcast_stream.BroadcastStream):
            self._require_same_environment("connect()", ds.get_stream())
            return broadcast_connected_stream.BroadcastConnectedStream(self, ds)
        self._require_same_environment("connect()", ds)
        return connected_streams.ConnectedStreams(self, ds)

    def split(self, selector: Callable[[Any], Any] | OutputSelector[Any]) -> SplitStream:
        """Give every record names of outputs; `select` of the result picks them.

        :param selector: a function that returns the names of one record, or an OutputSelector.
        """
        require_function("split()", selector, OutputSelector)
        return split_stream.SplitStream(self, selector)

    def get_side_output(self, output_tag: OutputTag[Any]) -> DataStream:
        """Return the records that the operator sent to a side output."""
        require_object("get_side_output()", output_tag, OutputTag)
        operator = self._operator("get_side_output()")
        side = SideOutputTransformation(operator, output_tag.tag_id, output_tag.type_info)
        return DataStream(self._environment, side)

    def join(self, other_stream: DataStream) -> JoinedStreams:
        """Pair elements of two streams by key and window."""
        self._require_same_environment("join()", other_stream)
        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams:
        """Group elements of two streams together by key and window."""
        self._require_same_environment("co_group()", other_stream)
        return CoGroupedStreams(self, other_stream)

    # ---- windows over the whole stream --------------------------------------------------------

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Put all elements into windows, whatever their key; works in one subtask."""
        return AllWindowedStream(self.key_by(same_key), window_assigner)

    def time_window_all(
        self, size: Time | Duration, slide: Time | Duration | None = None
    ) -> AllWindowedStream:
        """Put all elements into tumbling or sliding windows of time, as `time_window` does."""
        return self.window_all(self._time_windows(size, slide))

    def _time_windows(
        self, size: Time | Duration, slide: Time | Duration | None
    ) -> WindowAssigner[Any, Any]:
        return time_window_assigner(self._environment, self._transformation, size, slide)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Put all elements into windows of a number of elements, as `count_window` does."""
        return AllWindowedStream(self.key_by(same_key), *count_window_parts(size, slide))

    # ---- where records go next ----------------------------------------------------------------

    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector[Any, Any] | Field,
        key_type: TypeInformation | Field | None = None,
        *more_fields: Field,
    ) -> KeyedStream:
        """Partition the stream by a key; state, timers and windows behind it are kept by key.

        :param key_selector: a function of one record, a KeySelector, or a field: the position in a
            tuple or the name in a Row, dict or object.
        :param key_type: type of the key; or, after a field, a second field.
        :param more_fields: further fields; the key is then the tuple of all of them.
        """
        selector, declared = make_key_selector(key_selector, key_type, more_fields)
        return keyed_stream.KeyedStream(self, selector, declared)

    def shuffle(self) -> DataStream:
        """Send every record to a subtask chosen at random."""
        return self._partition(Shuffle())

    def rebalance(self) -> DataStream:
        """Send records to the subtasks in turn."""
        return self._partition(Rebalance())

    def rescale(self) -> DataStream:
        """Send records in turn to those subtasks that this one shares out among its neighbours."""
        return self._partition(Rescale())

    def forward(self) -> DataStream:
        """Send records to the subtask of the same number."""
        return self._partition(Forward())

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Send every record to all subtasks.

        :param broadcast_state_descriptor: with it the result is for `connect`: its records are kept
            in broadcast state by a broadcast process function.
        """
        stream = self._partition(Broadcast())
        if broadcast_state_descriptor is None:
            return stream
        descriptors = broadcast_connected_stream.require_descriptors(
            (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        )
        return broadcast_stream.BroadcastStream(stream, descriptors)

    def global_(self) -> DataStream:
        """Send every record to the first subtask."""
        return self._partition(Global())

    def partition_custom(
        self,
        partitioner: Callable[[Any, int], int] | Partitioner[Any],
        key_selector: Callable[[Any], Any] | KeySelector[Any, Any] | Field,
    ) -> DataStream:
        """Send every record to the subtask that `partitioner(key, number of subtasks)` returns."""
        require_function("partition_custom()", partitioner, Partitioner)
        selector, _ = make_key_selector(key_selector, None, ())
        return self._partition(Custom(partitioner, selector))

    # ---- for the classes of this package ------------------------------------------------------

    def _partition(self, partitioner: PartitionerSpec) -> DataStream:
        partitioned = PartitionTransformation(self._transformation, partitioner)
        return DataStream(self._environment, partitioned)

    def _transform(
        self, name: str, spec: OperatorSpec, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Add an operator behind this stream and return its output."""
        return DataStream(
            self._environment, self._add_operator(name, spec, [self._transformation], output_type)
        )

    def _require_same_environment(self, call: str, other: DataStream) -> None:
        require_object(call, other, DataStream)
        if other._environment is not self._environment:
            raise GraphError(
                f"{call} needs streams of the same environment",
                where=str(capture_call_site()),
                todo="create both streams from one StreamExecutionEnvironment",
            )

    def _require_same_type(self, other: DataStream) -> None:
        mine, theirs = self._transformation.output_type, other._transformation.output_type
        if mine is not None and theirs is not None and mine != theirs:
            raise GraphError(
                "union() needs streams of the same type",
                where=str(capture_call_site()),
                got=f"{mine} and {theirs}",
                todo="map both to one type, or use connect() for streams of different types",
            )


# These modules need DataStream themselves, so it must exist before they are loaded. Modules and not
# their classes are imported, so that it does not matter which of them a program loads first.
from penstock.datastream import (  # noqa: E402
    broadcast_connected_stream,
    broadcast_stream,
    connected_streams,
    iterative_stream,
    keyed_stream,
    split_stream,
)
