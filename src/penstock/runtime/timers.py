"""Timers of one operator in one time domain: deduplicated, deletable, fired in order.

Timers of equal time fire in the order in which they were registered. The order is part of the
state, so it is the same after a restart or in another worker.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

#: (key, namespace, timestamp)
Timer = tuple[Any, Any, int]
#: (timestamp, serial number, key, namespace)
_Entry = tuple[int, int, Any, Any]
_FEW = 100


class TimerQueue:
    """The pending timers of one operator, for all keys of a slot.

    >>> queue = TimerQueue()
    >>> queue.register(20, "a"), queue.register(10, "b"), queue.register(20, "a")
    (None, None, None)
    >>> fired = []
    >>> queue.fire(20, lambda timestamp, key, namespace: fired.append((timestamp, key)))
    >>> fired
    [(10, 'b'), (20, 'a')]
    """

    def __init__(self) -> None:
        self._heap: list[_Entry] = []
        self._serials: dict[Timer, int] = {}
        self._next_serial = 0
        self._saved_serial = 0  # the number as the last delta told it
        self._added: dict[Timer, int] = {}
        self._removed: set[Timer] = set()
        self._stale = False  # much was loaded: the heap is made anew rather than added to

    def __len__(self) -> int:
        return len(self._serials)

    @property
    def used(self) -> bool:
        """Tell whether there has ever been a timer."""
        return self._next_serial > 0

    def register(self, timestamp: int, key: Any, namespace: Any = None) -> None:
        """Set a timer; setting the same one again changes nothing."""
        timer = (key, namespace, timestamp)
        if timer in self._serials:
            return
        serial = self._next_serial
        self._next_serial = serial + 1
        self._serials[timer] = self._added[timer] = serial
        heappush(self._heap, (timestamp, serial, key, namespace))

    def delete(self, timestamp: int, key: Any, namespace: Any = None) -> None:
        """Take a timer back; no harm if there is none."""
        timer = (key, namespace, timestamp)
        if self._serials.pop(timer, None) is not None:
            self._forget(timer)
            if len(self._heap) > 1000 and len(self._heap) > 4 * len(self._serials):
                self._rebuild()  # deleted timers stay in the heap: do not let them pile up

    def _forget(self, timer: Timer) -> None:
        if self._added.pop(timer, None) is None:
            self._removed.add(timer)

    def next_time(self) -> int | None:
        """Return the time of the first pending timer."""
        heap, serials = self._heap, self._serials
        while heap:
            timestamp, serial, key, namespace = heap[0]
            if serials.get((key, namespace, timestamp)) == serial:
                return timestamp
            heappop(heap)
        return None

    def fire(self, until: int, callback: Callable[[int, Any, Any], None]) -> None:
        """Call back for every timer up to and including `until`, in order."""
        serials = self._serials
        due: list[_Entry] = []  # taken off the heap at once; the next one stands last
        popped = 0
        try:
            while True:
                # Look at the heap again on every turn: a callback may register a timer that is
                # already due, and it must fire now, not at the next watermark. Its deletes may
                # have made the heap anew.
                heap = self._heap
                if due and not (heap and heap[0] < due[-1]):
                    entry = due.pop()
                elif not heap or heap[0][0] > until:
                    break
                elif not due and popped > _FEW + len(heap) // 64:
                    due, popped = self._split_off(until), 0
                    continue
                else:
                    entry = heappop(heap)
                    popped += 1
                timestamp, serial, key, namespace = entry
                timer = (key, namespace, timestamp)
                if serials.get(timer) == serial:
                    del serials[timer]
                    self._forget(timer)
                    callback(timestamp, key, namespace)
        finally:
            if due:
                self._rebuild()

    def _split_off(self, until: int) -> list[_Entry]:
        """Take all that is due off the heap: sorting many is faster than popping them."""
        due = [entry for entry in self._heap if entry[0] <= until]
        due.sort(reverse=True)
        self._heap = [entry for entry in self._heap if entry[0] > until]
        heapify(self._heap)
        return due

    def timers(self) -> list[Timer]:
        """Return the pending timers, unordered."""
        return list(self._serials)

    def take_delta(self) -> Any:
        """Return what changed since the last call, picklable, or None."""
        # The number counts even if all new timers are gone again: no two timers may ever have the
        # same one, in whatever worker, for this queue's heap may still hold the one that is gone.
        if not self._added and not self._removed and self._next_serial == self._saved_serial:
            return None
        delta = (list(self._removed), list(self._added.items()), self._next_serial)
        self._saved_serial = self._next_serial
        self._added = {}
        self._removed = set()
        return delta

    def apply(self, delta: Any) -> None:
        """Lay a delta over the timers."""
        removed, added, self._next_serial = delta
        self._saved_serial = self._next_serial
        for timer in removed:
            self._serials.pop(timer, None)
        self._serials.update(added)
        if self._stale or len(added) * 8 > len(self._heap):
            self._stale = True
        else:
            for (key, namespace, timestamp), serial in added:
                heappush(self._heap, (timestamp, serial, key, namespace))

    def settle(self) -> None:
        """Make the timers ready to fire, after the last `apply`."""
        if self._stale:
            self._rebuild()
            self._stale = False

    def dump(self, timers: list[Timer]) -> Any:
        """Return a delta that holds those of the timers that are still pending."""
        serials = self._serials
        return (
            [],
            [(timer, serials[timer]) for timer in timers if timer in serials],
            (self._next_serial),
        )

    def clear(self) -> None:
        """Forget all timers."""
        for timer in list(self._serials):
            del self._serials[timer]
            self._forget(timer)
        self._heap = []

    def _rebuild(self) -> None:
        self._heap = [
            (timestamp, serial, key, namespace)
            for (key, namespace, timestamp), serial in self._serials.items()
        ]
        heapify(self._heap)
