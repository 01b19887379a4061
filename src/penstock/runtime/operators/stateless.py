"""map, flat_map and filter.

Many records are worked through by generators, not by the built-in `map` and `filter`: those would
take a StopIteration of the user's function for the end of the records. And each generator is a
frame of its operator in a traceback, by which a failure is traced to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.runtime.operators.base import Operator


class MapOperator(Operator):
    """One result a record."""

    one_to_one = True

    def open(self) -> None:
        """Open the user's function."""
        self._function = self.call(self.spec.function, "map")
        super().open()

    def process(self, value: Any) -> None:
        """Take one record."""
        self.emit(self._function(value))

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many records."""
        self.emit_all(self._results(values))

    def _results(self, values: Iterable[Any]) -> Iterator[Any]:
        function = self._function
        for value in values:
            yield function(value)


class FilterOperator(Operator):
    """Let records pass or not."""

    def open(self) -> None:
        """Open the user's function."""
        self._function = self.call(self.spec.function, "filter")
        super().open()

    def process(self, value: Any) -> None:
        """Take one record."""
        if self._function(value):
            self.emit(value)

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many records."""
        self.emit_all(self._passed(values))

    def _passed(self, values: Iterable[Any]) -> Iterator[Any]:
        function = self._function
        for value in values:
            if function(value):
                yield value


class FlatMapOperator(Operator):
    """Any number of results a record."""

    def open(self) -> None:
        """Open the user's function."""
        self._function = self.call(self.spec.function, "flat_map")
        super().open()

    def process(self, value: Any) -> None:
        """Take one record."""
        self.emit_results(self._function(value))

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many records."""
        self.emit_all(self._results(values))

    def _results(self, values: Iterable[Any]) -> Iterator[Any]:
        function = self._function
        for value in values:
            results = function(value)
            if results is not None:
                try:
                    yield from results
                except TypeError:
                    self.require_iterable(results)
                    raise
