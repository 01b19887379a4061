"""Operators that put rows into the order of their times before they work on them.

Rows wait, by time, until the watermark has passed them. A row behind the watermark is too late and
is dropped, as in Flink.
"""

from __future__ import annotations

import datetime
from typing import Any

from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.table.programs import load_program
from penstock.runtime.state.pane_tables import PaneListTable
from penstock.runtime.state.tables import ValueTable

_EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MS = datetime.timedelta(milliseconds=1)


def row_time(value: datetime.datetime) -> int:
    """Return a time attribute's value as milliseconds of the epoch."""
    return (value - (_EPOCH if value.tzinfo is None else _UTC_EPOCH)) // _MS


class TimedOperator(Operator):
    """Base: keep rows by key and time, and hand over all of a time at once."""

    def open(self) -> None:
        """Get the state."""
        assert self.backend is not None
        self._keys = self.backend.context
        self._waiting: PaneListTable = self.backend.table("waiting", "pane-list")
        self._dropped = self.late_counter()
        super().open()

    def process(self, value: Any) -> None:
        """Take one row under the current key."""
        self.process_keyed([self._keys.key], None, [value])

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many rows, each under its key."""
        if self.spec.time is None:
            for key, row in zip(keys, values, strict=True):
                self.take(key, [row], self.scope.time)
            return
        assert self.backend is not None
        timers, waiting, position = self.backend.event_timers, self._waiting, self.spec.time
        for key, row in zip(keys, values, strict=True):
            if row[position] is None:
                continue
            time = row_time(row[position])
            if self.is_late(key, time):
                self._dropped.inc()
                continue
            waiting.add((key, time), row)
            timers.register(time, (key, time))

    def is_late(self, key: Any, time: int) -> bool:
        """Tell whether a row of this time comes too late."""
        return time <= self.watermark

    def on_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Hand over the rows of a time that the watermark has passed."""
        if namespace != timestamp:
            self.on_other_timer(timestamp, key, namespace)
            return
        rows = self._waiting.get((key, timestamp))
        self._waiting.remove((key, timestamp))
        self.take(key, rows, timestamp)

    def take(self, key: Any, rows: list[Any], time: int) -> None:
        """Work on all rows of a key that have the same time."""
        raise TypeError("abstract")

    def on_other_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """React to a timer that is not of waiting rows."""


class FirstRowOperator(TimedOperator):
    """The first row of each key by its time: known once the watermark has passed it."""

    def open(self) -> None:
        """Get the state."""
        assert self.backend is not None
        self._sent: ValueTable = self.backend.table("sent", "value")
        super().open()

    def is_late(self, key: Any, time: int) -> bool:
        """Tell whether a row comes too late, or behind the first one of its key."""
        return time <= self.watermark or key in self._sent.data

    def take(self, key: Any, rows: list[Any], time: int) -> None:
        """Send the first row of a key, unless it has one already."""
        if key not in self._sent.data:
            self._sent.put(key, True)
            self.scope.timestamp = time
            self.emit(rows[0])


class TemporalSortOperator(TimedOperator):
    """ORDER BY a time attribute first."""

    def open(self) -> None:
        """Load the order of rows of the same time."""
        super().open()
        self._order: Any = None
        if self.spec.order is not None:
            self._order = load_program(self, self.spec.order)["order"]

    def take(self, key: Any, rows: list[Any], time: int) -> None:
        """Send the rows of a time."""
        if self._order is not None:
            rows.sort(key=self._order)
        self.scope.timestamp = time
        self.emit_all(rows)
