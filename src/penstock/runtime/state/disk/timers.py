"""Timers that are larger than memory.

Those that were set in the batch are in memory, as in any queue: most windows of a busy stream come
and go in few batches. At its end they join the others in the slot's store, in the order of time and
number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.core.time import MAX_WATERMARK
from penstock.runtime.sorted_runs import SortedRuns
from penstock.runtime.state.disk.dictionary import DiskDict, TimedDiskDict
from penstock.runtime.state.disk.key_bytes import serial_bytes
from penstock.runtime.state.disk.store import DiskStore
from penstock.runtime.timers import Timer, TimerQueue


class DiskOrder:
    """The order of timers, in place of `SortedRuns`.

    :param serials: the numbers of the timers that are pending.
    """

    def __init__(self, store: DiskStore, serials: DiskDict) -> None:
        self._serials = serials
        self._new = SortedRuns()  # newer than all others
        self._rest = TimedDiskDict(store, serial_bytes)  # owner by time and number
        self._first: int | None = None  # time of the first of the rest
        self._known = False  # whether that is known
        self._new_from = 0  # timers from this number on are in `_new`
        #: Add a timer that has just been set.
        self.add = self._new.add

    def extend(self, timers: Iterable[Timer]) -> None:
        """Add timers that were there before."""
        for timer in timers:
            self.insert(timer, self._serials[timer])

    def insert(self, timer: Timer, serial: int) -> None:
        """Add a timer of a number."""
        self._rest[timer[0], serial] = timer[1]
        self._known = False

    def remove(self, timer: Timer, serial: int) -> None:
        """Remove a timer that is there."""
        key = (timer[0], serial)
        if serial >= self._new_from and not self._rest.holds(key):
            self._new.discard(timer)
        else:
            del self._rest[key]
            self._known = False

    def take(self, until: int) -> list[Timer]:
        """Remove the timers up to and including a time, and return them in order."""
        new = self._new.take(until)
        first = self._first_of_rest()
        if first is None or first > until:
            return new
        self._known = False
        old = [(time, owner) for (time, _), owner in self._rest.take(until)]
        return sorted(old + new, key=lambda timer: timer[0]) if new else old

    def bound(self, without: int) -> int:
        """Return a time that no timer is before."""
        first = self._first_of_rest()
        new = self._new.bound(without)
        return new if first is None else min(first, new)

    def first_time(self) -> int | None:
        """Return the time of the first timer."""
        times = (self._new.first_time(), self._first_of_rest())
        return min((time for time in times if time is not None), default=None)

    def _first_of_rest(self) -> int | None:
        if not self._known:
            self._first, self._known = self._rest.first_time(), True
        return self._first

    def clear(self) -> None:
        """Remove all timers."""
        self._new.clear()
        self._rest.clear()
        self._known = False

    def store_new(self, next_serial: int) -> None:
        """Let those that are new join the rest.

        :param next_serial: the number of the next timer.
        """
        self.extend(self._new.take(MAX_WATERMARK))
        self._new_from = next_serial


class DiskTimerQueue(TimerQueue):
    """A queue of timers in a slot's store."""

    def __init__(self, store: DiskStore, *, patient: bool = False) -> None:
        super().__init__(patient=patient)
        self._serials: DiskDict = DiskDict(store)
        self._order: DiskOrder = DiskOrder(store, self._serials)  # type: ignore[assignment]

    def _discard(self, timer: Timer, serial: int) -> None:
        self._order.remove(timer, serial)

    def timers(self) -> Iterator[Timer]:
        """See `TimerQueue.timers`."""
        return iter(self._serials)

    def _newest_first(self) -> list[tuple[Timer, int]]:
        # New ones were touched in this batch.
        return sorted(self._serials.held_items(), key=lambda item: item[1], reverse=True)

    def apply(self, delta: Any) -> None:
        """See `TimerQueue.apply`."""
        removed, added, numbers, self._next_serial = delta
        self._saved_serial = self._next_serial
        for timer in removed:
            serial = self._serials.pop(timer, None)
            if serial is not None:
                self._order.remove(timer, serial)
        for timer, serial in zip(added, numbers, strict=True):
            if timer not in self._serials:  # else it is one that a sweep has carried along
                self._serials[timer] = serial
                self._order.insert(timer, serial)

    def store_new(self) -> None:
        """Let the timers that were set in this batch join the others."""
        self._order.store_new(self._next_serial)
