"""Timers of one operator in one time domain: deduplicated, deletable, fired in order.

Timers of equal time fire in the order in which they were registered. The order is part of the
state, so it is the same after a restart or in another worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import Any

#: (key, namespace, timestamp)
Timer = tuple[Any, Any, int]

_EMPTY: dict[tuple[Any, Any], int] = {}
_serial = itemgetter(1)


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
        #: By timestamp, since many keys wait for the same one: serial number by key and namespace.
        self._buckets: dict[int, dict[tuple[Any, Any], int]] = {}
        self._heap: list[int] = []  # timestamps; of buckets that are gone too
        self._count = 0
        self._next_serial = 0
        self._saved_serial = 0  # the number as the last delta told it
        self._added: dict[Timer, int] = {}
        self._removed: set[Timer] = set()

    def __len__(self) -> int:
        return self._count

    @property
    def used(self) -> bool:
        """Tell whether there has ever been a timer."""
        return self._next_serial > 0

    def register(self, timestamp: int, key: Any, namespace: Any = None) -> None:
        """Set a timer; setting the same one again changes nothing."""
        owner = (key, namespace)
        bucket = self._buckets.get(timestamp)
        if bucket is None:
            bucket = self._new_bucket(timestamp)
        elif owner in bucket:
            return
        serial = self._next_serial
        self._next_serial = serial + 1
        self._count += 1
        bucket[owner] = self._added[key, namespace, timestamp] = serial

    def delete(self, timestamp: int, key: Any, namespace: Any = None) -> None:
        """Take a timer back; no harm if there is none."""
        if self._drop(timestamp, (key, namespace)):
            self._forget((key, namespace, timestamp))

    def next_time(self) -> int | None:
        """Return the time of the first pending timer."""
        heap = self._heap
        while heap:
            if heap[0] in self._buckets:
                return heap[0]
            heappop(heap)
        return None

    def fire(self, until: int, callback: Callable[[int, Any, Any], None]) -> None:
        """Call back for every timer up to and including `until`, in order."""
        heap, buckets = self._heap, self._buckets
        runs: dict[int, Iterator[tuple[tuple[Any, Any], int]]] = {}
        # Look at the head again on every turn: a callback may register a timer that is already
        # due, and it must fire now, not at the next watermark.
        while heap and heap[0] <= until:
            timestamp = heap[0]
            bucket = buckets.get(timestamp)
            if bucket is None:
                heappop(heap)
                continue
            run = runs.pop(timestamp, None) or iter(sorted(bucket.items(), key=_serial))
            for owner, serial in run:
                if bucket.get(owner) != serial:
                    continue  # a callback has deleted it
                self._drop(timestamp, owner)
                self._forget((*owner, timestamp))
                callback(timestamp, *owner)
                if heap and heap[0] < timestamp:  # set by the callback: its turn comes first
                    runs[timestamp] = run
                    break

    def timers(self) -> list[Timer]:
        """Return the pending timers, unordered."""
        return [
            (key, namespace, timestamp)
            for timestamp, bucket in self._buckets.items()
            for key, namespace in bucket
        ]

    def take_delta(self) -> Any:
        """Return what changed since the last call, picklable, or None."""
        # The number counts even if all new timers are gone again: the order of two timers must not
        # depend on which worker they were set in.
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
        for key, namespace, timestamp in removed:
            self._drop(timestamp, (key, namespace))
        for (key, namespace, timestamp), serial in added:
            bucket = self._buckets.get(timestamp)
            if bucket is None:
                bucket = self._new_bucket(timestamp)
            if (key, namespace) not in bucket:
                self._count += 1
            bucket[key, namespace] = serial

    def dump(self, timers: list[Timer]) -> Any:
        """Return a delta that holds those of the timers that are still pending."""
        held = []
        for timer in timers:
            key, namespace, timestamp = timer
            serial = self._buckets.get(timestamp, _EMPTY).get((key, namespace))
            if serial is not None:
                held.append((timer, serial))
        return [], held, self._next_serial

    def clear(self) -> None:
        """Forget all timers."""
        for timer in self.timers():
            self._forget(timer)
        self._buckets.clear()
        self._heap.clear()
        self._count = 0

    def _new_bucket(self, timestamp: int) -> dict[tuple[Any, Any], int]:
        bucket = self._buckets[timestamp] = {}
        heappush(self._heap, timestamp)
        return bucket

    def _drop(self, timestamp: int, owner: tuple[Any, Any]) -> bool:
        bucket = self._buckets.get(timestamp)
        if bucket is None or bucket.pop(owner, None) is None:
            return False
        self._count -= 1
        if not bucket:
            del self._buckets[timestamp]
            heap = self._heap
            if len(heap) > 1000 and len(heap) > 4 * len(self._buckets):
                heap[:] = self._buckets  # do not let timestamps that are gone pile up
                heapify(heap)
        return True

    def _forget(self, timer: Timer) -> None:
        if self._added.pop(timer, None) is None:
            self._removed.add(timer)
