"""Streams whose records carry names of outputs: the classic split and select."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.functions import (
    FilterFunction,
    OutputSelector,
    RuntimeContext,
    bind_runtime_context,
)
from penstock.datastream.stream import DataStream
from penstock.errors import GraphError
from penstock.graph.call_site import capture_call_site
from penstock.graph.specs import FilterSpec


class SplitStream(DataStream):
    """What `split` returns; side outputs do the same with one call of the function a record.

    >>> from penstock.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> numbers = env.from_collection([1, 2, 3])
    >>> split = numbers.split(lambda n: ["even"] if n % 2 == 0 else ["odd"])
    >>> even = split.select("even")
    """

    def __init__(
        self, origin: DataStream, selector: Callable[[Any], Any] | OutputSelector[Any]
    ) -> None:
        super().__init__(origin.get_execution_environment(), origin._transformation)
        self._selector = selector

    def select(self, *output_names: str) -> DataStream:
        """Return the records that have at least one of these names."""
        if not output_names:
            raise GraphError(
                "select() needs the name of at least one output",
                where=str(capture_call_site()),
                todo="pass names that the selector returns",
            )
        picked = _HasOutput(self._selector, frozenset(output_names))
        return self._transform(
            f"Select({', '.join(output_names)})",
            FilterSpec(picked),
            self._transformation.output_type,
        )


class _HasOutput(FilterFunction[Any]):
    """Keep records to which the user's selector gives one of the wanted names."""

    def __init__(self, selector: Any, names: frozenset[str]) -> None:
        self.selector = selector
        self.names = names

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self.selector, OutputSelector):
            bind_runtime_context(self.selector, runtime_context)
            self.selector.open(runtime_context)

    def close(self) -> None:
        if isinstance(self.selector, OutputSelector):
            self.selector.close()

    def filter(self, value: Any) -> bool:
        selector = self.selector
        found = selector.select(value) if isinstance(selector, OutputSelector) else selector(value)
        # A selector that returns one name may return it bare: a string is no list of letters.
        return found in self.names if isinstance(found, str) else not self.names.isdisjoint(found)
