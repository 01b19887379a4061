"""Aggregates of windows that overlap, from slices: what lies between two bounds of windows.

A row is accumulated in its slice only. When a window ends, its slices are merged. Every slice in
state has a timer at the end of the first of its windows that has not ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any

from penstock.runtime.codec import Frozen
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.table.programs import load_program
from penstock.runtime.operators.table.windows import Clock, wall_time
from penstock.runtime.state.pane_tables import PaneValueTable


class SliceOperator(Operator):
    """Find the slice of each row, in front of the exchange."""

    def open(self) -> None:
        """Prepare the clock."""
        self._clock = Clock(self.spec.zone)
        super().open()

    def process(self, value: Any) -> None:
        """Take one row."""
        self.emit_all(self._rows((value,)))

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many rows."""
        self.emit_all(self._rows(values))

    def _rows(self, values: Iterable[Any]) -> Iterator[Any]:
        spec, wall_ms = self.spec, self._clock.wall_ms
        time, width, step, offset = spec.time, spec.width, spec.step, spec.offset
        if spec.proctime:
            for row in values:
                wall = self._clock.wall_of(self.scope.time)
                yield (*row[:width], wall - (wall - offset) % step)
            return
        for row in values:
            if row[time] is not None:  # a row without a time is in no window
                wall = wall_ms(row[time])
                yield (*row[:width], wall - (wall - offset) % step)


class SlicedWindowOperator(Operator):
    """Base: accumulate rows in slices. Times are on the wall (`Clock`), in milliseconds."""

    def open(self) -> None:
        """Load the code."""
        assert self.backend is not None
        spec = self.spec
        self._keys = self.backend.context
        self._table: PaneValueTable = self.backend.table("slices", "pane-value")
        loaded = load_program(self, spec.program)
        self._create: Callable[[], Any] = loaded["create"]
        self._accumulate, self._result = loaded["accumulate"], loaded["result"]
        self._merge: Callable[[Any, Any], Any] = loaded["merge"]
        self._clock = Clock(spec.zone)
        self._columns = itemgetter(*spec.columns)
        self._bounds_of: tuple[int, int] | None = None
        self._bounds: tuple[Any, ...] = ()
        self._dropped = self.late_counter()
        backend = self.backend
        self._timers = backend.processing_timers if spec.proctime else backend.event_timers
        super().open()

    def process(self, value: Any) -> None:
        """Take one row under the current key."""
        self.process_keyed([self._keys.key], None, [value])

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many rows, each under its key."""
        table = self._table
        data, changed = table.data, table.changed
        create, accumulate = self._create, self._accumulate
        targets: dict[int, tuple[int, int] | None] = {}
        last, target = None, None
        for key, row in zip(keys, values, strict=True):
            place = row[-1]
            if place != last:
                last = place
                if place not in targets:
                    targets[place] = self._target(place)
                target = targets[place]
            if target is None:
                self._dropped.inc()
                continue
            pane = (key, target[0])
            held = data.get(pane)
            if held is None:
                held = create()
                self._set_timer(key, target[1])
            elif type(held) is Frozen:
                held = table.get(pane)
            data[pane] = accumulate(held, row)
            changed[pane] = None

    def _target(self, place: int) -> tuple[int, int] | None:
        """Return the slice that takes the rows of a slice, and the end of its next window.

        None: all its windows have ended.
        """
        spec = self.spec
        now = self.scope.time if spec.proctime else self.watermark
        end, last = place + spec.step, self.last_end(place)
        while end <= last and self._clock.epoch_ms(end - 1) <= now:
            end += spec.step
        if end > last:
            return None
        return (place if end == place + spec.step else self.late_slice(place)), end

    def last_end(self, place: int) -> int:
        """Return the end of the last window that a slice belongs to."""
        raise TypeError("abstract")

    def late_slice(self, place: int) -> int:
        """Return the slice that takes rows of one whose first window has ended."""
        raise TypeError("abstract")

    def _set_timer(self, key: Any, end: int) -> None:
        self._timers.register(self._clock.epoch_ms(end - 1), (key, end))

    def on_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Send the result of a window that has ended."""
        self.scope.timestamp = timestamp
        self.end_window(key, namespace)

    on_processing_timer = on_event_timer

    def end_window(self, key: Any, end: int) -> None:
        """Merge the slices of a window, send the result, and see to the next window."""
        raise TypeError("abstract")

    def _slice(self, key: Any, place: int) -> Any:
        """Return the accumulator of a slice, to be read; None if it has no rows."""
        held = self._table.data.get((key, place))
        return held.thaw() if type(held) is Frozen else held

    def _send(self, key: Any, start: int, end: int, accumulator: Any) -> None:
        if self._bounds_of != (start, end):  # those of many keys end together
            self._bounds_of = (start, end)
            self._bounds = (wall_time(start), wall_time(end), self._clock.attribute(end - 1))
        columns = (key,) if self.spec.keys == 1 else key
        self.emit(self._columns(columns + self._bounds) + self._result(accumulator))


class HopOperator(SlicedWindowOperator):
    """HOP: a slice belongs to as many windows as slides fit into the size."""

    def last_end(self, place: int) -> int:
        """Return the end of the last window that a slice belongs to."""
        return int(place + self.spec.size)

    def late_slice(self, place: int) -> int:
        """Return the slice itself: its later windows read it when they end."""
        return place

    def end_window(self, key: Any, end: int) -> None:
        """Merge the slices; the oldest one has no further window."""
        step, start = self.spec.step, end - self.spec.size
        # From the newest to the oldest, as in Flink: texts are joined in this order.
        found = [
            (place, held)
            for place in range(end - step, start - 1, -step)
            if (held := self._slice(key, place)) is not None
        ]
        if not found:
            return
        merged = found[0][1]
        if len(found) > 1:
            merged = self._create()
            for _, held in found:
                merged = self._merge(merged, held)
        self._send(key, start, end, merged)
        self._table.remove((key, start))
        if found[0][0] > start:
            self._set_timer(key, end + step)


class CumulateOperator(SlicedWindowOperator):
    """CUMULATE: each step adds its slice to the first one of the window."""

    def _first(self, place: int) -> int:
        return int(place - (place - self.spec.offset) % self.spec.size)

    def last_end(self, place: int) -> int:
        """Return the end of the last window that a slice belongs to."""
        return int(self._first(place) + self.spec.size)

    def late_slice(self, place: int) -> int:
        """Return the first slice: this one has been added to it."""
        return self._first(place)

    def end_window(self, key: Any, end: int) -> None:
        """Add the newest slice to the first; the window goes on until it has its full size."""
        newest = end - self.spec.step
        first = self._first(newest)
        table = self._table
        total: Any = table.get((key, first))
        if newest != first and (held := self._slice(key, newest)) is not None:
            total = self._merge(self._create() if total is None else total, held)
            table.put((key, first), total)
            table.remove((key, newest))
        if total is None:
            return
        self._send(key, first, end, total)
        if end < first + self.spec.size:
            self._set_timer(key, end + self.spec.step)
        else:
            table.remove((key, first))


def make_sliced_operator(plan: Any, context: Any, scope: Any) -> SlicedWindowOperator:
    """Return the operator for the kind of window."""
    kinds = {"HOP": HopOperator, "CUMULATE": CumulateOperator}
    return kinds[plan.spec.kind](plan, context, scope)
