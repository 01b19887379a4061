"""Two streams joined or grouped together, window by window."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.common import TypeInformation
from penstock.core.functions import CoGroupFunction, FlatJoinFunction, JoinFunction, KeySelector
from penstock.core.windowing import WindowAssigner
from penstock.datastream.windowing import WindowSettings
from penstock.errors import GraphError
from penstock.graph.call_site import capture_call_site
from penstock.graph.fields import Field
from penstock.graph.function_checks import require_function
from penstock.graph.specs import CoGroupSpec

if TYPE_CHECKING:
    from penstock.datastream.keyed_stream import KeyedStream
    from penstock.datastream.stream import DataStream

Key = Callable[[Any], Any] | KeySelector[Any, Any] | Field


class _TwoStreams:
    """Base of both: where(...).equal_to(...).window(...)."""

    def __init__(self, first: DataStream, second: DataStream) -> None:
        self._first = first
        self._second = second
        self._keyed: list[KeyedStream | None] = [None, None]

    def where(self, key_selector: Key, key_type: TypeInformation | None = None) -> Any:
        """Say what the key of the first stream is."""
        self._keyed[0] = self._first.key_by(key_selector, key_type)
        return self

    def equal_to(self, key_selector: Key, key_type: TypeInformation | None = None) -> Any:
        """Say what the key of the second stream is."""
        self._keyed[1] = self._second.key_by(key_selector, key_type)
        return self

    def _keyed_streams(self) -> tuple[KeyedStream, KeyedStream]:
        first, second = self._keyed
        if first is None or second is None:
            raise GraphError(
                "both streams need a key before window()",
                where=str(capture_call_site()),
                got=f"where() {'called' if first else 'missing'}, "
                f"equal_to() {'called' if second else 'missing'}",
                todo="write .where(key of the first).equal_to(key of the second).window(...)",
            )
        return first, second


class JoinedStreams(_TwoStreams):
    """What `join` returns: pairs of elements with the same key in the same window.

    >>> from penstock.common import Time
    >>> from penstock.datastream import StreamExecutionEnvironment
    >>> from penstock.datastream.window import TumblingProcessingTimeWindows
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> orders, goods = env.from_collection([(1, "a")]), env.from_collection([("a", 9.5)])
    >>> priced = (
    ...     orders.join(goods)
    ...     .where(lambda order: order[1])
    ...     .equal_to(lambda item: item[0])
    ...     .window(TumblingProcessingTimeWindows.of(Time.seconds(5)))
    ...     .apply(lambda order, item: (order[0], item[1]))
    ... )
    """

    def window(self, assigner: WindowAssigner[Any, Any]) -> WindowedJoin:
        """Say in which windows elements meet."""
        return WindowedJoin(*self._keyed_streams(), assigner)


class CoGroupedStreams(_TwoStreams):
    """What `co_group` returns: all elements of both streams with the same key and window."""

    def window(self, assigner: WindowAssigner[Any, Any]) -> WindowedCoGroup:
        """Say in which windows elements meet."""
        return WindowedCoGroup(*self._keyed_streams(), assigner)


class _WindowedPair(WindowSettings):
    def __init__(
        self, first: KeyedStream, second: KeyedStream, assigner: WindowAssigner[Any, Any]
    ) -> None:
        super().__init__(first.get_execution_environment(), assigner)
        self._first = first
        self._second = second

    def _end(self, function: Any, pairs: str, output_type: TypeInformation | None) -> DataStream:
        spec = CoGroupSpec(**self._spec_settings(), function=function, pairs=pairs)
        result = self._first.connect(self._second)._transform(self._name(), spec, output_type)
        return result.set_description(self._description(function))


class WindowedJoin(_WindowedPair):
    """A join that knows its windows."""

    def apply(
        self,
        function: Callable[[Any, Any], Any]
        | JoinFunction[Any, Any, Any]
        | FlatJoinFunction[Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call a function for each pair; a FlatJoinFunction may give any number of results."""
        if isinstance(function, FlatJoinFunction):
            return self._end(function, "flat_join", output_type)
        require_function("apply()", function, JoinFunction)
        return self._end(function, "join", output_type)


class WindowedCoGroup(_WindowedPair):
    """A co-group that knows its windows."""

    def apply(
        self,
        function: Callable[[Any, Any], Any] | CoGroupFunction[Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call a function with the elements of both streams, also if one side has none."""
        require_function("apply()", function, CoGroupFunction)
        return self._end(function, "co_group", output_type)
