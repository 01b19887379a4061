"""Long sliding windows that begin often and fire at their end: each element is kept once.

A key has one timer for the next of its windows that has elements, and sets the one after it when
that fires. With allowed lateness it has a second one for the slice that goes next.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from penstock.runtime.operators.window_base import WindowOperatorBase
from penstock.runtime.state.slice_tables import SliceListTable, SliceValueTable
from penstock.runtime.windowing.contents import TABLE
from penstock.runtime.windowing.convert import CLEANUP, FIRE
from penstock.runtime.windowing.slices import CombinedSlices, ElementSlices, Slicing, earliest


class SlicedWindowOperator(WindowOperatorBase):
    """Sliding windows with the default trigger, put together from slices."""

    def open(self) -> None:
        """Open the user's functions."""
        assert self.backend is not None
        assigner = self.spec.assigner
        self._size: int = assigner.size
        self._slicing = Slicing(assigner.size, assigner.slide, assigner.offset)
        super().open()
        self._contents: CombinedSlices | ElementSlices
        if self._combiner is None:
            self._contents = ElementSlices(self.backend.table(TABLE, SliceListTable.kind))
        else:
            table = self.backend.table(TABLE, SliceValueTable.kind)
            self._contents = CombinedSlices(table, self._combiner, self._slicing.count())
        self._table: Any = self._contents.table
        timers = self.backend.event_timers if self._event_time else self.backend.processing_timers
        self._timers = timers

    # --- records --------------------------------------------------------------------------

    def process(self, value: Any) -> None:
        """Take one record."""
        slicing, key = self._slicing, self._keys.key
        if self._event_time:
            time, now = self.scope.timestamp, self.watermark
            if time is None:
                raise self.missing_timestamp(value)
        else:
            time, now = self.scope.time, self.scope.time - 1
        number = slicing.slice_of(time)
        if time <= now and slicing.last(slicing.newest_window(number)) + self._lateness <= now:
            self.drop(value)
            return
        pane = (key, number)
        if pane not in self._table.data:
            self._open_slice(pane, now)
        self._contents.add(pane, value)
        if time <= now:
            self._fire_again(key, number, now)

    def _open_slice(self, pane: tuple[Any, int], now: int) -> None:
        slicing, (key, number) = self._slicing, pane
        self._table.open(pane)
        window = max(slicing.oldest_window(number), slicing.window_at(now + 1))
        if window <= slicing.newest_window(number):
            self._timers.register(earliest(slicing.last(window)), (key, FIRE))
        if self._lateness and self._table.slices[key][0] == number:
            self._register_cleanup(key, number)

    def _register_cleanup(self, key: Any, number: int) -> None:
        last = self._slicing.last(self._slicing.newest_window(number))
        self._timers.register(self.cleanup_time(last), (key, CLEANUP))

    def _fire_again(self, key: Any, number: int, now: int) -> None:
        """Fire the windows of a late element that have fired already, the newest one first."""
        slicing = self._slicing
        oldest = max(slicing.oldest_window(number), slicing.window_at(now + 1 - self._lateness))
        newest = min(slicing.newest_window(number), slicing.window_at(now + 1) - 1)
        for window in range(newest, oldest - 1, -1):
            self._fire(key, window)

    # --- firing ---------------------------------------------------------------------------

    def _fire(self, key: Any, window: int) -> None:
        elements = self._contents.elements(key, *self._slicing.slices_of(window))
        if elements is not None:
            start = self._slicing.start(window)
            self.emit_window(key, (start, start + self._size), start + self._size - 1, elements)

    def on_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Fire a window, or let slices go that no window needs any more."""
        slicing = self._slicing
        if namespace == FIRE:
            window = slicing.window_at(timestamp)
            self._fire(key, window)
            if not self._lateness:
                self._expire(key, window)
            self._register_next(key, window)
        else:
            self._expire(key, slicing.window_at(timestamp - self._lateness + 1) - 1)
            numbers = self._table.slices.get(key)
            if numbers:
                self._register_cleanup(key, numbers[0])

    on_processing_timer = on_event_timer

    def _expire(self, key: Any, window: int) -> None:
        """Forget the slices that belong to no window behind this one."""
        begin, _ = self._slicing.slices_of(window + 1)
        numbers = self._table.slices.get(key)
        while numbers and numbers[0] < begin:
            self._contents.remove((key, numbers[0]))

    def _register_next(self, key: Any, fired: int) -> None:
        """Set the timer of the next window that has elements."""
        slicing = self._slicing
        begin, _ = slicing.slices_of(fired + 1)
        numbers = self._table.slices.get(key, ())
        at = bisect_left(numbers, begin)
        if at < len(numbers):
            window = max(slicing.oldest_window(numbers[at]), fired + 1)
            self._timers.register(earliest(slicing.last(window)), (key, FIRE))
