"""map, flat_map and filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.runtime.operators.base import Operator


class MapOperator(Operator):
    """One result a record."""

    def open(self) -> None:
        """Open the user's function."""
        self._function = self.call(self.spec.function, "map")
        super().open()

    def process(self, value: Any) -> None:
        """Take one record."""
        self.emit(self._function(value))

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many records."""
        self.emit_all(map(self._function, values))


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
        self.emit_all(filter(self._function, values))


class FlatMapOperator(Operator):
    """Any number of results a record."""

    def open(self) -> None:
        """Open the user's function."""
        self._function = self.call(self.spec.function, "flat_map")
        super().open()

    def process(self, value: Any) -> None:
        """Take one record."""
        results = self._function(value)
        if results is not None:
            self.emit_all(results)

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many records."""
        self.emit_all(self._results(values))

    def _results(self, values: Iterable[Any]) -> Iterator[Any]:
        function = self._function
        for value in values:
            results = function(value)
            if results is not None:
                yield from results
