"""Windows of tables: their bounds as columns, and aggregates that are final at a window's end."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

from penstock.runtime.codec import Frozen
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.table.programs import load_program
from penstock.runtime.state.pane_tables import PaneValueTable

_EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MS = datetime.timedelta(milliseconds=1)
_HOUR = 3_600_000


class Clock:
    """Times of rows as milliseconds of the clock that a window's bounds are read on.

    A window on TIMESTAMP has the bounds that its column shows, one on TIMESTAMP_LTZ those of
    the session's zone.
    """

    def __init__(self, zone: str | None) -> None:
        self.zone = None if zone is None else ZoneInfo(zone)
        #: By hour of the epoch, how far the wall is ahead of it; None: that changes within it.
        self._ahead: dict[int, int | None] = {}
        #: Points in time by milliseconds on the wall: many rows and keys ask for the same ones.
        self._attributes: dict[int, datetime.datetime] = {}

    def wall_ms(self, value: datetime.datetime) -> int:
        """Return a row's time on the wall."""
        if self.zone is None:
            return (value - _EPOCH) // _MS
        return self.wall_of((value - _UTC_EPOCH) // _MS)

    def wall_of(self, ms: int) -> int:
        """Return milliseconds of the epoch as milliseconds on the wall."""
        if self.zone is None:
            return ms
        hour = ms // _HOUR
        if hour not in self._ahead:
            first, next_ = (self._ahead_at(each * _HOUR) for each in (hour, hour + 1))
            _make_room(self._ahead)
            self._ahead[hour] = first if first == next_ else None
        ahead = self._ahead[hour]
        return ms + (self._ahead_at(ms) if ahead is None else ahead)

    def _ahead_at(self, ms: int) -> int:
        """Return how many milliseconds the wall is ahead of the epoch's clock."""
        local = (_UTC_EPOCH + ms * _MS).astimezone(self.zone)
        return (local.replace(tzinfo=None) - _EPOCH) // _MS - ms

    def epoch_ms(self, wall: int) -> int:
        """Return milliseconds on the wall as milliseconds of the epoch, which timers count."""
        if self.zone is None:
            return wall
        return (self.attribute(wall) - _UTC_EPOCH) // _MS

    def attribute(self, wall: int) -> datetime.datetime:
        """Return a time on the wall as a value of the time attribute."""
        found = self._attributes.get(wall)
        if found is None:
            found = _EPOCH + wall * _MS
            if self.zone is not None:
                found = found.replace(tzinfo=self.zone).astimezone(datetime.timezone.utc)
            _make_room(self._attributes)
            self._attributes[wall] = found
        return found


def _make_room(known: dict[int, Any]) -> None:
    """Forget everything when it is much."""
    if len(known) > 10_000:
        known.clear()


def wall_time(ms: int) -> datetime.datetime:
    """Return milliseconds on the wall as a TIMESTAMP."""
    return _EPOCH + ms * _MS


class WindowTableOperator(Operator):
    """Put window_start, window_end and window_time behind each row, once for each window."""

    def open(self) -> None:
        """Choose how windows are found."""
        spec = self.spec
        self._clock = Clock(spec.zone)
        self._bounds: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._starts: Callable[[int], Iterable[tuple[int, int]]] = {
            "TUMBLE": self._tumble,
            "HOP": self._hop,
            "CUMULATE": self._cumulate,
        }[spec.kind]
        super().open()

    def process(self, value: Any) -> None:
        """Take one row."""
        self.emit_all(self._rows((value,)))

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many rows."""
        self.emit_all(self._rows(values))

    def _rows(self, values: Iterable[Any]) -> Iterator[Any]:
        time, clock, starts, bounds = self.spec.time, self._clock, self._starts, self._bounds
        proctime = self.spec.proctime
        for row in values:
            if proctime:
                wall = clock.wall_of(self.scope.time)
            else:
                point = row[time]
                if point is None:
                    continue  # a row without a time is in no window
                wall = clock.wall_ms(point)
            for window in starts(wall):
                columns = bounds.get(window)
                if columns is None:
                    columns = self._columns(window)
                yield row + columns

    def _columns(self, window: tuple[int, int]) -> tuple[Any, ...]:
        if len(self._bounds) > 10_000:
            self._bounds.clear()
        start, end = window
        columns = (wall_time(start), wall_time(end), self._clock.attribute(end - 1))
        self._bounds[window] = columns
        return columns

    def _tumble(self, time: int) -> Iterable[tuple[int, int]]:
        size = self.spec.size
        start = time - (time - self.spec.offset) % size
        return ((start, start + size),)

    def _hop(self, time: int) -> Iterable[tuple[int, int]]:
        size, slide = self.spec.size, self.spec.slide
        newest = time - (time - self.spec.offset) % slide
        return ((start, start + size) for start in range(newest, time - size, -slide))

    def _cumulate(self, time: int) -> Iterable[tuple[int, int]]:
        size, step = self.spec.size, self.spec.slide
        start = time - (time - self.spec.offset) % size
        first = time - (time - start) % step + step
        return ((start, end) for end in range(first, start + size + 1, step))


class WindowAggregateOperator(Operator):
    """Accumulate by group and window; send the result when the window has ended."""

    def open(self) -> None:
        """Load the code."""
        assert self.backend is not None
        spec = self.spec
        self._keys = self.backend.context
        self._table: PaneValueTable = self.backend.table("panes", "pane-value")
        loaded = load_program(self, spec.program)
        self._create, self._accumulate = loaded["create"], loaded["accumulate"]
        self._result = loaded["result"]
        columns = spec.columns
        self._group: Callable[[Any], tuple[Any, ...]]
        if len(columns) == 1:
            self._group = lambda row: (row[columns[0]],)
        else:
            self._group = itemgetter(*columns)
        self._clock = Clock(spec.zone)
        self._dropped = self.late_counter()
        self._last: tuple[Any, int] = (None, 0)
        super().open()

    def process(self, value: Any) -> None:
        """Take one row under the current key."""
        self.process_keyed([self._keys.key], None, [value])

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many rows, each under its key."""
        assert self.backend is not None
        spec, table = self.spec, self._table
        data, changed, group, end_at = table.data, table.changed, self._group, spec.end
        create, accumulate = self._create, self._accumulate
        timers = self.backend.processing_timers if spec.proctime else self.backend.event_timers
        now = self.scope.time if spec.proctime else self.watermark
        for key, row in zip(keys, values, strict=True):
            fires = self._fires_at(row[end_at])
            if fires <= now:
                self._dropped.inc()
                continue
            pane = (key, group(row))
            held = data.get(pane)
            if held is None:
                held = create()
                timers.register(fires, pane)
            elif type(held) is Frozen:
                held = table.get(pane)
            data[pane] = accumulate(held, row)
            changed[pane] = None

    def _fires_at(self, end: datetime.datetime) -> int:
        """Return the time of the timer of a window: its last millisecond."""
        known, fires = self._last
        if known is not end:
            wall = (end - _EPOCH) // _MS
            fires = self._clock.epoch_ms(wall - 1)
            self._last = (end, fires)
        return fires

    def on_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Send the result of a window that has ended."""
        pane = (key, namespace)
        held = self._table.get(pane)
        self._table.remove(pane)
        if held is not None:
            self.scope.timestamp = timestamp
            self.emit((*namespace, *self._result(held)))

    on_processing_timer = on_event_timer
