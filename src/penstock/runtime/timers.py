"""Timers of one operator in one time domain: deduplicated, deletable, fired in order.

Timers of equal time fire in the order in which they were registered. The order is part of the
state, so it is the same after a restart or in another worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Any

from penstock.core.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.errors import ProgramError, show_value
from penstock.runtime.sorted_runs import SortedRuns

#: (timestamp, owner)
Timer = tuple[int, Any]
_NEVER = MIN_WATERMARK - 1
_NONE = MAX_WATERMARK + 1
#: Timers that may fire one after another without any time passing, each set by one before it.
_MOST_CALLS = 1_000_000


class TimerQueue:
    """The pending timers of one operator, for all keys of a slot.

    A timer is a time and an *owner*: what the operator wants to be told then, a key or a window of
    a key.

    :param patient: a timer that is set while another fires, for its time or before, waits for the
        next firing. Processing time stands still while timers fire: a function that always asks to
        be called now would be called for ever.

    >>> queue = TimerQueue()
    >>> queue.register(20, "a"), queue.register(10, "b"), queue.register(20, "a")
    (None, None, None)
    >>> list(queue.due(20))
    [(10, 'b'), (20, 'a')]
    """

    def __init__(self, *, patient: bool = False) -> None:
        self._serials: dict[Timer, int] = {}  # what is pending; new timers stand last
        self._order = SortedRuns()
        #: No timer is before this time: what a watermark is compared with first.
        self.earliest: int = _NONE
        self._next_serial = 0
        self._saved_serial = 0  # the number as the last delta told it: timers from it on are new
        self._removed: list[Timer] = []  # not new ones: those are just gone
        self._loaded: dict[Timer, int] = {}  # applied, and not in `_order` yet
        # While timers fire:
        self._until = _NEVER
        self._due: list[Timer] = []  # those that are due, taken off `_order`; the next stands last
        self._cancelled: set[Timer] = set()  # of these
        self._urgent: list[tuple[int, int, Timer]] = []  # a heap: set meanwhile, and due already
        self._patient = patient
        self._now = _NEVER  # what is set for this time or before waits; only if `patient`
        self._waiting: set[Timer] = set()  # these; they are in `_order`
        self._fired = 0

    def __len__(self) -> int:
        return len(self._serials)

    @property
    def used(self) -> bool:
        """Tell whether there has ever been a timer."""
        return self._next_serial > 0

    def take_fired(self) -> int:
        """Return how many timers have fired since the last call."""
        fired, self._fired = self._fired, 0
        return fired

    def register(self, timestamp: int, owner: Any) -> None:
        """Set a timer; setting the same one again changes nothing."""
        timer = (timestamp, owner)
        if timer in self._serials:
            return
        self._serials[timer] = serial = self._next_serial
        self._next_serial = serial + 1
        if timestamp > self._until:
            self._order.add(timer)
            if timestamp < self.earliest:
                self.earliest = timestamp
        elif timestamp <= self._now:
            self._order.add(timer)
            self._waiting.add(timer)
        else:
            heappush(self._urgent, (timestamp, serial, timer))

    def delete(self, timestamp: int, owner: Any) -> None:
        """Take a timer back; no harm if there is none."""
        timer = (timestamp, owner)
        serial = self._serials.pop(timer, None)
        if serial is None:
            return
        if serial < self._saved_serial:
            self._removed.append(timer)
        if timestamp > self._until:
            self._discard(timer, serial)
        elif timer in self._waiting:
            self._waiting.discard(timer)
            self._discard(timer, serial)
        else:
            self._cancelled.add(timer)

    def _discard(self, timer: Timer, serial: int) -> None:
        self._order.discard(timer)

    def next_time(self) -> int | None:
        """Return the time of the first pending timer."""
        return self._order.first_time()

    def due(self, until: int) -> Iterator[Timer]:
        """Take the timers up to and including `until` off the queue, in order.

        Whoever is told of one may set and delete others before asking for the next. One that is
        set for a time that has come already is due now: it must not wait for the next watermark.

        :raises ProgramError: if that goes on without end.
        """
        self._put_back()
        due = self._order.take(until)
        if not due:
            self.earliest = self._order.bound(_NONE)
            return
        self._fired += len(due)
        due.reverse()
        self._due, self._until = due, until
        serials, removed, saved = self._serials, self._removed, self._saved_serial
        urgent, cancelled = self._urgent, self._cancelled
        latest, calls = _NEVER, 0
        while due or urgent:
            if not due or (urgent and urgent[0][0] < due[-1][0]):
                _, serial, timer = heappop(urgent)
                if serials.get(timer) != serial:
                    continue
                self._fired += 1
                calls = calls + 1 if timer[0] <= latest else 0
                if calls > _MOST_CALLS:
                    raise _endless(timer)
            else:
                timer = due.pop()
                if cancelled and timer in cancelled:
                    cancelled.discard(timer)
                    self._fired -= 1
                    continue
            if serials.pop(timer) < saved:
                removed.append(timer)
            latest = timer[0]
            if self._patient:
                self._now = latest
            yield timer
        self._put_back()
        self.earliest = self._order.bound(_NONE)

    def _put_back(self) -> None:
        """End the firing; if it was broken off, the rest is there again."""
        self._until = self._now = _NEVER
        if self._waiting:
            self._waiting = set()
        if self._due or self._urgent:
            self._order.extend(timer for timer in self._due[::-1] if timer not in self._cancelled)
            alive = [each for each in self._urgent if self._serials.get(each[2]) == each[1]]
            self._order.extend(timer for _, _, timer in sorted(alive, key=lambda each: each[1]))
            self._due = []
            self._urgent = []
        if self._cancelled:
            self._cancelled = set()

    def timers(self) -> Iterable[Timer]:
        """Return the pending timers, unordered."""
        return list(self._serials)

    def take_delta(self) -> Any:
        """Return what changed since the last call, picklable, or None."""
        # The number counts even if all new timers are gone again: no two timers may ever have the
        # same one, in whatever worker.
        saved = self._saved_serial
        if not self._removed and self._next_serial == saved:
            return None
        added: list[Timer] = []
        serials: list[int] = []
        for timer, serial in self._newest_first():
            if serial < saved:
                break
            added.append(timer)
            serials.append(serial)
        delta = (self._removed.copy(), added, serials, self._next_serial)
        self._saved_serial = self._next_serial
        self._removed.clear()
        return delta

    def _newest_first(self) -> Iterable[tuple[Timer, int]]:
        return reversed(self._serials.items())

    def apply(self, delta: Any) -> None:
        """Lay a delta over the timers."""
        removed, added, numbers, self._next_serial = delta
        self._saved_serial = self._next_serial
        serials, loaded = self._serials, self._loaded
        for timer in removed:
            if serials.pop(timer, None) is not None and loaded.pop(timer, None) is None:
                self._order.discard(timer)
        for timer, serial in zip(added, numbers, strict=True):
            if timer not in serials:  # else it is one that a sweep has carried along
                serials[timer] = loaded[timer] = serial

    def settle(self) -> None:
        """Make the timers ready to fire, after the last `apply`."""
        # All of them are newer than those that have been here before.
        self._order.extend(sorted(self._loaded, key=self._loaded.__getitem__))
        self._loaded = {}
        self.earliest = _NEVER  # not known: the first watermark looks

    def dump(self, timers: list[Timer]) -> Any:
        """Return a delta that holds those of the timers that are still pending."""
        serials = self._serials
        held = [timer for timer in timers if timer in serials]
        return [], held, [serials[timer] for timer in held], self._next_serial

    def clear(self) -> None:
        """Forget all timers."""
        saved = self._saved_serial
        self._removed += [timer for timer, serial in self._serials.items() if serial < saved]
        self._serials.clear()
        self._order.clear()
        self.earliest = _NONE


def _endless(timer: Timer) -> ProgramError:
    return ProgramError(
        f"on_timer() has been called {_MOST_CALLS:,} times for timers that it set itself, each for "
        "a time that had come already",
        got=f"a timer for {timer[0]}, of {show_value(timer[1], 100)}",
        todo="set timers for a time behind the one that on_timer() is called with",
    )
