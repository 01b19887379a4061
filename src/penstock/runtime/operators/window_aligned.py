"""Tumbling and sliding windows that fire at their end: no trigger is asked, no window is made.

A pane is named by `(key, start of the window)`. Its timers are set once, when it is opened; a
record that joins it later costs some arithmetic and the user's function.
"""

from __future__ import annotations

from typing import Any

from penstock.core.time import MAX_WATERMARK
from penstock.runtime.codec import Frozen
from penstock.runtime.operators.window_base import WindowOperatorBase
from penstock.runtime.windowing.combine import NONE, AggregateCombiner
from penstock.runtime.windowing.contents import CombinedContents, Contents, ElementContents


class AlignedWindowOperator(WindowOperatorBase):
    """Windows of a fixed size that begin every slide, with the default trigger."""

    def open(self) -> None:
        """Open the user's functions."""
        assert self.backend is not None
        assigner = self.spec.assigner
        self._size: int = assigner.size
        self._slide: int = getattr(assigner, "slide", assigner.size)
        self._offset: int = assigner.offset
        super().open()
        self._contents: Contents
        if self._combiner is None:
            self._contents = ElementContents(self.backend)
        else:
            self._contents = CombinedContents(self.backend, self._combiner)
        self._panes = self._contents.table.data
        timers = self.backend.event_timers if self._event_time else self.backend.processing_timers
        self._timers = timers

    def process(self, value: Any) -> None:
        """Take one record."""
        size, slide = self._size, self._slide
        if self._event_time:
            time, now = self.scope.timestamp, self.watermark
            if time is None:
                raise self.missing_timestamp(value)
        else:
            time, now = self.scope.time, self.scope.time - 1
        key, lateness = self._keys.key, self._lateness
        newest = time - (time - self._offset) % slide
        skipped = True
        for start in range(newest, time - size, -slide):
            last = start + size - 1
            if last + lateness <= now:
                continue
            skipped = False
            pane = (key, start)
            if pane not in self._panes:
                self._open_pane(pane, last, now)
            self._contents.add(pane, value, None)
            if last <= now:
                self._fire(pane, last)
        if skipped and time + lateness <= now:
            self.drop(value)

    def _open_pane(self, pane: tuple[Any, int], last: int, now: int) -> None:
        cleanup = self.cleanup_time(last)
        if last > now:
            self._timers.register(min(last, MAX_WATERMARK), pane)
        if cleanup < MAX_WATERMARK:
            self._timers.register(cleanup, pane)

    def _fire(self, pane: tuple[Any, int], last: int) -> None:
        elements = self._contents.elements(pane)
        if elements is not None:
            key, start = pane
            self.emit_window(key, (start, start + self._size), last, elements)

    def on_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Fire the window at its end; let it go once it is too late for its elements."""
        pane, last = (key, namespace), namespace + self._size - 1
        if timestamp == last:
            self._fire(pane, last)
        if timestamp == self.cleanup_time(last):
            self._contents.clear(pane)
            self.clear_window(key, (namespace, namespace + self._size))

    on_processing_timer = on_event_timer


class TumblingCombineOperator(AlignedWindowOperator):
    """Tumbling windows whose elements are combined: the commonest of all."""

    def process(self, value: Any) -> None:
        """Take one record."""
        self.process_keyed([self._keys.key], [self.scope.timestamp], [value])

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many records: all that is done for each one stands in this loop."""
        now = self.watermark
        if not self._event_time:
            timestamps, now = [self.scope.time] * len(values), self.scope.time - 1
        elif timestamps is None:
            raise self.missing_timestamp(values[0])
        combiner, table = self._combiner, self._contents.table
        assert combiner is not None
        aggregate = combiner.function if isinstance(combiner, AggregateCombiner) else None
        add = combiner.add if aggregate is None else aggregate.add
        first, data, changed = combiner.first, table.data, table.changed
        size, offset = self._size, self._offset
        for key, time, value in zip(keys, timestamps, values, strict=True):
            if time is None or time <= now:
                self._process_late(key, time, value)
                continue
            start = time - (time - offset) % size
            pane = (key, start)
            held = data.get(pane)
            if held is None:
                self._open_pane(pane, start + size - 1, now)
                held = first(value)
            else:
                if type(held) is Frozen:
                    held = table.get(pane)
                if aggregate is not None:
                    held = add(value, None if held is NONE else held)
                else:
                    held = add(None if held is NONE else held, value)
            changed[pane] = None
            data[pane] = NONE if held is None else held

    def _process_late(self, key: Any, time: int | None, value: Any) -> None:
        """Take a record that is behind the watermark: its window may have fired, or be gone."""
        self._keys.key = key
        self.scope.timestamp = time
        super().process(value)
