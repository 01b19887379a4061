"""Keyed streams cut into windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.common import TypeInformation
from penstock.core.functions import (
    AggregateFunction,
    AllWindowFunction,
    FoldFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from penstock.core.windowing import Evictor, MergingWindowAssigner, Trigger, WindowAssigner
from penstock.datastream.windowing import WindowSettings
from penstock.errors import WindowConfigError
from penstock.graph.aggregations import FieldMax, FieldMin, FieldSum, MaxBy, MinBy
from penstock.graph.call_site import capture_call_site
from penstock.graph.fields import Field
from penstock.graph.function_checks import (
    require_arguments,
    require_field,
    require_function,
    require_object,
)
from penstock.graph.specs import Aggregated, Folded, Reduced, WindowSpec

if TYPE_CHECKING:
    from penstock.datastream.keyed_stream import KeyedStream
    from penstock.datastream.stream import DataStream

WindowCall = Callable[..., Any] | WindowFunction[Any, Any, Any, Any]


class WindowedStream(WindowSettings):
    """A keyed stream whose elements are put into windows; what is done to each ends it.

    >>> from penstock.common import Time
    >>> from penstock.datastream import StreamExecutionEnvironment
    >>> from penstock.datastream.window import TumblingProcessingTimeWindows
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> counts = (
    ...     env.from_collection([("a", 1), ("a", 2)])
    ...     .key_by(lambda pair: pair[0])
    ...     .window(TumblingProcessingTimeWindows.of(Time.seconds(5)))
    ...     .sum(1)
    ... )
    """

    #: Classes of the functions that `process` and `apply` take.
    _process_class: type = ProcessWindowFunction
    _apply_class: type = WindowFunction
    #: Whether there is one window for all keys together.
    _all_windows = False

    def __init__(
        self,
        stream: KeyedStream,
        assigner: WindowAssigner[Any, Any],
        trigger: Trigger[Any, Any] | None = None,
        evictor: Evictor[Any, Any] | None = None,
    ) -> None:
        super().__init__(stream.get_execution_environment(), assigner, trigger, evictor)
        self._stream = stream

    def get_input_type(self) -> TypeInformation:
        """Return the type of the elements."""
        return self._stream.get_type()

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction[Any],
        window_function: Any = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Combine the elements of a window as they come.

        :param window_function: called with the result instead of sending it on as it is: a
            function of window and key as for `apply`, or a process function as for `process`.
        """
        require_function("reduce()", reduce_function, ReduceFunction)
        kept = self._stream._transformation.output_type if window_function is None else None
        return self._end(Reduced(reduce_function), window_function, output_type or kept)

    def aggregate(
        self,
        aggregate_function: AggregateFunction[Any, Any, Any],
        window_function: Any = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Put the elements of a window into an accumulator as they come.

        :param window_function: called with the result instead of sending it on as it is.
        :param accumulator_type: declared type of the accumulator; it is pickled in any case.
        """
        require_object("aggregate()", aggregate_function, AggregateFunction)
        return self._end(Aggregated(aggregate_function), window_function, output_type)

    def fold(
        self,
        initial_value: Any,
        function: Callable[[Any, Any], Any] | FoldFunction[Any, Any],
        window_function: Any = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Put the elements of a window into a value that begins with `initial_value`.

        :raises WindowConfigError: if windows merge: two folded values cannot become one.
        """
        require_function("fold()", function, FoldFunction)
        if isinstance(self._assigner, MergingWindowAssigner):
            raise WindowConfigError(
                "fold() cannot be used with windows that merge",
                where=str(capture_call_site()),
                got=repr(self._assigner),
                todo="use aggregate() with a function that defines merge(), or reduce()",
            )
        return self._end(Folded(initial_value, function), window_function, output_type)

    def apply(
        self, window_function: WindowCall, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call a function with key, window and all elements of the window."""
        require_function("apply()", window_function, self._apply_class)
        return self._end(None, window_function, output_type)

    def process(
        self, process_window_function: Any, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call a process function with all elements of the window, time and state."""
        require_object("process()", process_window_function, self._process_class)
        return self._end(None, process_window_function, output_type)

    def sum(self, position_to_sum: Field = 0) -> DataStream:
        """Add up one field; the other fields are those of the window's first element."""
        return self.reduce(FieldSum(require_field("sum()", position_to_sum)))

    def min(self, position_to_min: Field = 0) -> DataStream:
        """Give the smallest value of one field; the other fields are those of the first element."""
        return self.reduce(FieldMin(require_field("min()", position_to_min)))

    def max(self, position_to_max: Field = 0) -> DataStream:
        """Give the largest value of one field; the other fields are those of the first element."""
        return self.reduce(FieldMax(require_field("max()", position_to_max)))

    def min_by(self, position_to_min_by: Field = 0, first: bool = True) -> DataStream:
        """Give the element with the smallest value of one field, the first or last such."""
        return self.reduce(MinBy(require_field("min_by()", position_to_min_by), first))

    def max_by(self, position_to_max_by: Field = 0, first: bool = True) -> DataStream:
        """Give the element with the largest value of one field, the first or last such."""
        return self.reduce(MaxBy(require_field("max_by()", position_to_max_by), first))

    def _end(
        self,
        combine: Reduced | Aggregated | Folded | None,
        function: Any,
        output_type: TypeInformation | None,
    ) -> DataStream:
        given = 2 if self._all_windows else 3
        if isinstance(function, self._process_class):
            require_arguments("process()", function, process=given)
        elif function is not None:
            require_function("window_function", function, self._apply_class)
            require_arguments("the window function", function, apply=given)
        spec = WindowSpec(
            **self._spec_settings(),
            combine=combine,
            function=function,
            all_windows=self._all_windows,
        )
        result = self._stream._transform(self._name(), spec, output_type)
        shown = function if function is not None else getattr(combine, "function", None)
        return result.set_description(self._description(shown))


class AllWindowedStream(WindowedStream):
    """A stream whose elements are put into windows all together; works in one subtask."""

    _process_class = ProcessAllWindowFunction
    _apply_class = AllWindowFunction
    _all_windows = True

    def _end(
        self,
        combine: Reduced | Aggregated | Folded | None,
        function: Any,
        output_type: TypeInformation | None,
    ) -> DataStream:
        return super()._end(combine, function, output_type).force_non_parallel()


def same_key(_: Any) -> int:
    """Return one key for all records: what makes a window of the whole stream."""
    return 0
