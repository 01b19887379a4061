"""Each row with the rows that a table function, or a collection in it, gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.runtime.operators.table.calc import ChunkOperator
from penstock.runtime.operators.table.programs import load_program


class CorrelateOperator(ChunkOperator):
    """Join rows with what is made of them."""

    def open(self) -> None:
        """Load the code."""
        spec = self.spec
        self._calc = load_program(self, spec.program)["calc"]
        self._rows = _ROWS[spec.kind]
        super().open()

    def work(self, rows: list[Any]) -> None:
        """Take a chunk of rows."""
        self.emit_all(self._joined(rows))

    def _joined(self, rows: list[Any]) -> Iterator[Any]:
        spec = self.spec
        width, outer, ordinality = spec.width, spec.outer, spec.ordinality
        pad = (None,) * spec.added
        make = self._rows
        for row, (value,) in zip(rows, self._calc(rows), strict=True):
            number = 0
            head, tail = row[:width], row[width:]
            for number, made in enumerate(make(value, spec.spread), start=1):
                extra = (*made, number) if ordinality else made
                yield (*head, *extra, *tail)
            if outer and number == 0:
                yield (*head, *pad, *tail)


def _elements(value: Any, spread: bool) -> Iterator[tuple[Any, ...]]:
    for item in value or ():
        yield item if spread else (item,)


def _counted(value: Any, spread: bool) -> Iterator[tuple[Any, ...]]:
    for item, count in (value or {}).items():
        for _ in range(count):
            yield item if spread else (item,)


def _pairs(value: Any, spread: bool) -> Iterator[tuple[Any, ...]]:
    yield from (value or {}).items()


def _results(value: Any, spread: bool) -> Iterator[tuple[Any, ...]]:
    """Yield what a table function returned or yields: rows, or single values."""
    if value is None:
        return
    if (
        isinstance(value, str | bytes)
        or not hasattr(value, "__iter__")
        or isinstance(value, tuple)
        or type(value).__name__ == "Row"
    ):
        value = (value,)
    for item in value:
        if isinstance(item, tuple | list) or type(item).__name__ == "Row":
            yield tuple(item)
        else:
            yield (item,)


_ROWS = {"array": _elements, "multiset": _counted, "map": _pairs, "function": _results}
