"""The first rows of each partition of a window, sent when it has ended; and INTERSECT ALL."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from penstock.graph.relational.specs import DELETE, INSERT
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.table.programs import load_program
from penstock.runtime.operators.table.timed import row_time
from penstock.runtime.state.tables import ValueTable


class WindowRankOperator(Operator):
    """Keep the first rows of a partition until its window ends."""

    def open(self) -> None:
        """Load the order."""
        assert self.backend is not None
        self._keys = self.backend.context
        self._table: ValueTable = self.backend.table("rows", "value")
        self._order = load_program(self, self.spec.order)["order"]
        self._dropped = self.late_counter()
        super().open()

    def process(self, value: Any) -> None:
        """Take one row under the current key."""
        assert self.backend is not None
        key, spec = self._keys.key, self.spec
        fires = row_time(value[spec.window_end]) - 1
        if fires <= self.watermark:
            self._dropped.inc()
            return
        held = self._table.get(key)
        if held is None:
            held = ([], [])
            self.backend.event_timers.register(fires, (key, None))
        orders, rows = held
        sort_key = self._order(value)
        place = bisect_right(orders, sort_key)
        if place >= spec.end:
            return
        orders.insert(place, sort_key)
        rows.insert(place, value)
        del orders[spec.end :], rows[spec.end :]
        self._table.put(key, held)

    def on_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Send the rows of a window that has ended."""
        held = self._table.get(key)
        self._table.put(key, None)
        if held is None:
            return
        spec = self.spec
        for number, row in enumerate(held[1], start=1):
            if number >= spec.start:
                self.emit((*row, number) if spec.with_number else row)


class SetOperator(Operator):
    """INTERSECT ALL and EXCEPT ALL: how often a row is there follows from its counts in both."""

    def open(self) -> None:
        """Get the state."""
        assert self.backend is not None
        self._keys = self.backend.context
        self._table: ValueTable = self.backend.table("counts", "value")
        super().open()

    def process(self, value: Any) -> None:
        """Take one row of the left input."""
        self.emit_all(list(self._changed(value, 0)))

    def process2(self, value: Any) -> None:
        """Take one row of the right input."""
        self.emit_all(list(self._changed(value, 1)))

    def _changed(self, value: Any, side: int) -> Iterator[Any]:
        changes = self.spec.changes[side]
        row, kind = (value[:-1], value[-1]) if changes else (value, INSERT)
        key = self._keys.key
        before = self._table.get(key) or (0, 0)
        after = list(before)
        after[side] += -1 if kind & 1 else 1
        self._table.put(key, tuple(after) if any(after) else None)
        difference = self._times(*after) - self._times(*before)
        for _ in range(abs(difference)):
            yield (*row, INSERT if difference > 0 else DELETE)

    def _times(self, left: int, right: int) -> int:
        return min(left, right) if self.spec.kind == "intersect" else max(left - right, 0)
