"""Streams partitioned by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from penstock.common import Duration, Time, TypeInformation
from penstock.core.functions import (
    FoldFunction,
    KeyedProcessFunction,
    KeySelector,
    ProcessFunction,
    ReduceFunction,
)
from penstock.core.windowing import WindowAssigner
from penstock.datastream.interval_join import IntervalJoin
from penstock.datastream.key_selection import Selector
from penstock.datastream.keyed_shortcuts import KeyedShortcuts
from penstock.datastream.stream import DataStream
from penstock.datastream.window_shapes import count_window_parts
from penstock.datastream.windowed_stream import WindowedStream
from penstock.errors import GraphError
from penstock.graph.aggregations import FieldMax, FieldMin, FieldSum, MaxBy, MinBy
from penstock.graph.call_site import capture_call_site
from penstock.graph.fields import Field
from penstock.graph.function_checks import (
    require_arguments,
    require_field,
    require_function,
    require_no_generator,
    require_object,
)
from penstock.graph.specs import Broadcast, FoldSpec, Hash, KeyedProcessSpec, ReduceSpec
from penstock.graph.specs import Partitioner as PartitionerSpec
from penstock.graph.transformations import OperatorTransformation, PartitionTransformation


class KeyedStream(KeyedShortcuts, DataStream):
    """A stream on which state, timers and rolling results are kept by key.

    >>> from penstock.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> pairs = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    >>> totals = pairs.key_by(lambda pair: pair[0]).sum(1)
    """

    _keyed = True

    def __init__(
        self, origin: DataStream, key_selector: Selector, key_type: TypeInformation | None = None
    ) -> None:
        partitioned = PartitionTransformation(origin._transformation, Hash(key_selector))
        super().__init__(origin.get_execution_environment(), partitioned)
        self._origin = origin
        self._key_selector = key_selector
        self._key_type = key_type

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction[Any]) -> DataStream:
        """Combine the records of a key: each record is answered with the result so far.

        In BATCH mode only the last result of each key is sent on.

        :param func: a function of the result so far and the next record, or a ReduceFunction.
        """
        require_function("reduce()", func, ReduceFunction)
        require_arguments("the function of reduce()", func, reduce=2)
        require_no_generator("reduce()", func, "reduce")
        return self._transform("Reduce", ReduceSpec(func), self._transformation.output_type)

    def fold(
        self,
        initial_value: Any,
        func: Callable[[Any, Any], Any] | FoldFunction[Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Combine the records of a key into a value that begins with `initial_value`.

        :param func: a function of the value so far and the next record, or a FoldFunction.
        """
        require_function("fold()", func, FoldFunction)
        return self._transform("Fold", FoldSpec(initial_value, func), output_type)

    def sum(self, position_to_sum: Field = 0) -> DataStream:
        """Add up one field; the other fields are those of the key's first record."""
        return self._aggregate(FieldSum(require_field("sum()", position_to_sum)))

    def min(self, position_to_min: Field = 0) -> DataStream:
        """Keep the smallest value of one field; the other fields are those of the first record."""
        return self._aggregate(FieldMin(require_field("min()", position_to_min)))

    def max(self, position_to_max: Field = 0) -> DataStream:
        """Keep the largest value of one field; the other fields are those of the first record."""
        return self._aggregate(FieldMax(require_field("max()", position_to_max)))

    def min_by(self, position_to_min_by: Field = 0, first: bool = True) -> DataStream:
        """Keep the whole record with the smallest value of one field.

        :param first: of several such records keep the first; else the last.
        """
        return self._aggregate(MinBy(require_field("min_by()", position_to_min_by), first))

    def max_by(self, position_to_max_by: Field = 0, first: bool = True) -> DataStream:
        """Keep the whole record with the largest value of one field.

        :param first: of several such records keep the first; else the last.
        """
        return self._aggregate(MaxBy(require_field("max_by()", position_to_max_by), first))

    def process(
        self,
        func: KeyedProcessFunction[Any, Any] | ProcessFunction[Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call a process function for every record, under its key, with state and timers.

        :param func: a KeyedProcessFunction; a plain ProcessFunction works as well.
        """
        require_object("process()", func, KeyedProcessFunction, ProcessFunction)
        require_arguments("process()", func, process_element=2, on_timer=2)
        return self._transform("KeyedProcess", KeyedProcessSpec(func), output_type)

    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector[Any, Any] | Field,
        key_type: TypeInformation | Field | None = None,
        *more_fields: Field,
    ) -> KeyedStream:
        """Partition the stream by another key instead."""
        return self._origin.key_by(key_selector, key_type, *more_fields)

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Put the elements of each key into windows."""
        return WindowedStream(self, window_assigner)

    def time_window(
        self, size: Time | Duration, slide: Time | Duration | None = None
    ) -> WindowedStream:
        """Put the elements of each key into tumbling or sliding windows of time.

        They follow event time if the environment's time characteristic is event time or ingestion
        time, else processing time.
        """
        return WindowedStream(self, self._time_windows(size, slide))

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Put the elements of each key into windows of a number of elements.

        :param slide: fire after every so many elements, on the last `size` of them; zero: after
            every `size` elements, on these.
        """
        return WindowedStream(self, *count_window_parts(size, slide))

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin:
        """Pair elements with those of another keyed stream whose times are close to theirs."""
        require_object("interval_join()", other_stream, KeyedStream)
        self._require_same_environment("interval_join()", other_stream)
        return IntervalJoin(self, other_stream)

    def get_key_type(self) -> TypeInformation | None:
        """Return the type that was declared for the key."""
        return self._key_type

    def _aggregate(self, function: ReduceFunction[Any]) -> DataStream:
        return self._transform(
            "Keyed Aggregation", ReduceSpec(function), self._transformation.output_type
        )

    def broadcast(self, *args: Any) -> NoReturn:
        """Refuse: the records of a keyed stream go where their keys say."""
        self._partition(Broadcast())

    def _partition(self, partitioner: PartitionerSpec) -> NoReturn:
        raise GraphError(
            "Cannot override partitioning for KeyedStream.",
            where=str(capture_call_site()),
            got=f"{type(partitioner).__name__.lower()} after key_by()",
            todo="call it on the stream in front of key_by(), or behind the next operator",
        )

    def _operator(self, call: str) -> OperatorTransformation:
        raise GraphError(
            f"{call} is not supported for KeyedStream: key_by() makes no operator",
            where=str(capture_call_site()),
            todo=f"call {call} on the operator in front of key_by() or behind it",
        )
