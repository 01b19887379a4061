"""Filter, projection and whatever else is generated code over chunks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.table.programs import load_program

#: Rows of one chunk at most.
CHUNK = 4096


class ChunkOperator(Operator):
    """Base of operators that work on lists of rows.

    Rows that come one by one wait in a list. A watermark among them is passed on behind the rows
    in front of it.
    """

    _waiting: list[Any]

    def open(self) -> None:
        """Prepare for rows."""
        self._waiting = []
        super().open()

    def work(self, rows: list[Any]) -> None:
        """Take a chunk of rows."""
        raise TypeError("abstract")

    def process(self, value: Any) -> None:
        """Take one row."""
        self.work([value])

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many rows."""
        if type(values) is list:
            self.work(values)
            return
        for value in values:
            # Not a local name: a watermark that comes while the next row is fetched takes the list.
            self._waiting.append(value)
            if len(self._waiting) >= CHUNK:
                self._flush()
        self._flush()

    def _flush(self) -> None:
        rows, self._waiting = self._waiting, []
        if rows:
            self.work(rows)

    def advance_watermark(self, watermark: int) -> None:
        """Send the rows in front of the watermark first."""
        self._flush()
        super().advance_watermark(watermark)


class CalcOperator(ChunkOperator):
    """Rows go through a generated function."""

    def open(self) -> None:
        """Load the code."""
        loaded = load_program(self, self.spec.program)
        super().open()
        self._calc: Callable[[list[Any]], list[Any]] = loaded["calc"]

    def work(self, rows: list[Any]) -> None:
        """Take a chunk of rows."""
        self.emit_all(self._calc(rows))


class ConvertOperator(Operator):
    """Records of a stream become rows, or rows become records."""

    def open(self) -> None:
        """Take the converter."""
        super().open()
        self._convert = self.spec.convert

    def process(self, value: Any) -> None:
        """Take one record."""
        self.emit_all(self._convert((value,), self.scope))

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many records."""
        self.emit_all(self._convert(values, self.scope))
