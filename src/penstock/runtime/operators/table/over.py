"""OVER aggregates: each row with a result over the rows in front of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.runtime.operators.table.programs import load_program
from penstock.runtime.operators.table.timed import TimedOperator
from penstock.runtime.state.tables import ValueTable


class OverOperator(TimedOperator):
    """Aggregate over the frame of each row.

    Unbounded frames keep one accumulator a key. Bounded ones keep the rows of the frame and take
    those back that leave it.
    """

    def open(self) -> None:
        """Load the code."""
        assert self.backend is not None
        super().open()
        spec = self.spec
        self._table: ValueTable = self.backend.table("frames", "value")
        loaded = load_program(self, spec.program)
        self._create: Callable[[], Any] = loaded["create"]
        self._accumulate, self._result = loaded["accumulate"], loaded["result"]
        self._retract = loaded.get("retract")

    def is_late(self, key: Any, time: int) -> bool:
        """Tell whether a row comes too late: a bounded frame knows up to where it has worked."""
        if self.spec.preceding is None:
            return super().is_late(key, time)
        held: Any = self._table.get(key)
        return held is not None and time <= held[2]

    def take(self, key: Any, rows: list[Any], time: int) -> None:
        """Work on the rows of a key that have the same time."""
        spec = self.spec
        if spec.preceding is None:
            out = self._unbounded(key, rows)
        elif spec.unit == "ROWS":
            out = self._by_rows(key, rows, time)
        else:
            out = self._by_range(key, rows, time)
        self.scope.timestamp = time
        self.emit_all(out)

    def _unbounded(self, key: Any, rows: list[Any]) -> list[Any]:
        acc = self._table.get(key)
        if acc is None:
            acc = self._create()
        out = []
        if self.spec.unit == "ROWS":
            for row in rows:
                acc = self._accumulate(acc, row)
                out.append(row + self._result(acc))
        else:
            for row in rows:
                acc = self._accumulate(acc, row)
            result = self._result(acc)
            out = [row + result for row in rows]
        self._table.put(key, acc)
        return out

    def _frame(self, key: Any) -> tuple[Any, list[Any]]:
        held: Any = self._table.get(key)
        return (self._create(), []) if held is None else held[:2]

    def _by_rows(self, key: Any, rows: list[Any], time: int) -> list[Any]:
        acc, frame = self._frame(key)
        assert self._retract is not None
        out = []
        for row in rows:
            frame.append(row)
            acc = self._accumulate(acc, row)
            if len(frame) > self.spec.preceding + 1:
                acc = self._retract(acc, frame.pop(0))
            out.append(row + self._result(acc))
        self._table.put(key, (acc, frame, time))
        return out

    def _by_range(self, key: Any, rows: list[Any], time: int) -> list[Any]:
        acc, frame = self._frame(key)
        assert self._retract is not None
        for row in rows:
            frame.append((time, row))
            acc = self._accumulate(acc, row)
        oldest = time - self.spec.preceding
        gone = 0
        while gone < len(frame) and frame[gone][0] < oldest:
            acc = self._retract(acc, frame[gone][1])
            gone += 1
        del frame[:gone]
        self._table.put(key, (acc, frame, time))
        result = self._result(acc)
        return [row + result for row in rows]
