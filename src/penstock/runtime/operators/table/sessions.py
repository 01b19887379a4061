"""Sessions of tables: rows wait until their session has ended, and get its bounds as columns."""

from __future__ import annotations

from typing import Any

from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.table.windows import Clock, wall_time
from penstock.runtime.state.tables import ValueTable


class SessionTableOperator(Operator):
    """Gather rows that follow each other within a gap.

    The state of a key is a list of its open sessions: begin, end and rows of each.
    """

    def open(self) -> None:
        """Get the state."""
        assert self.backend is not None
        self._keys = self.backend.context
        self._table: ValueTable = self.backend.table("sessions", "value")
        self._clock = Clock(self.spec.zone)
        self._dropped = self.late_counter()
        super().open()

    def process(self, value: Any) -> None:
        """Take one row under the current key."""
        self.process_keyed([self._keys.key], None, [value])

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many rows, each under its key."""
        spec, clock = self.spec, self._clock
        now = self.scope.time if spec.proctime else self.watermark
        for key, row in zip(keys, values, strict=True):
            if spec.proctime:
                time = clock.wall_of(self.scope.time)
            elif row[spec.time] is None:
                continue
            else:
                time = clock.wall_ms(row[spec.time])
            self._add(key, row, time, now)

    def _add(self, key: Any, row: Any, time: int, now: int) -> None:
        start, end, rows = time, time + self.spec.gap, [row]
        kept = []
        merged = []
        for session in self._table.get(key) or []:
            if session[0] <= end and start <= session[1]:
                merged.append(session)
            else:
                kept.append(session)
        for session in merged:
            start, end = min(start, session[0]), max(end, session[1])
        if self._clock.epoch_ms(end - 1) <= now:
            self._dropped.inc()
            return
        # In the order in which they came: what was there first stands first.
        rows = [each for session in merged for each in session[2]] + rows
        kept.append([start, end, rows])
        self._table.put(key, kept)
        self._timers().register(self._clock.epoch_ms(end - 1), (key, None))

    def _timers(self) -> Any:
        assert self.backend is not None
        domain = self.spec.proctime
        return self.backend.processing_timers if domain else self.backend.event_timers

    def on_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Send the rows of the sessions that have ended."""
        sessions = self._table.get(key) or []
        clock = self._clock
        ended = [s for s in sessions if clock.epoch_ms(s[1] - 1) <= timestamp]
        if not ended:
            return  # the session went on: another timer stands at its end
        rest = [s for s in sessions if s not in ended]
        self._table.put(key, rest or None)
        for start, end, rows in sorted(ended, key=lambda session: session[1]):
            columns = (wall_time(start), wall_time(end), clock.attribute(end - 1))
            self.emit_all([row + columns for row in rows])

    on_processing_timer = on_event_timer
