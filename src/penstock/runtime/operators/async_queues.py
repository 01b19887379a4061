"""What an asynchronous operator waits for, and the order in which it leaves.

The calls of a queue finish on another thread; everything else happens on the operator's.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, wait
from queue import Empty, SimpleQueue
from typing import Any


class Call:
    """A record under way."""

    __slots__ = ("future", "segment", "timestamp", "value")

    def __init__(self, value: Any, timestamp: int | None, future: Future[Any]) -> None:
        self.value = value
        self.timestamp = timestamp
        self.future = future
        self.segment = 0


class Mark:
    """A watermark behind the records that came before it."""

    __slots__ = ("watermark",)

    def __init__(self, watermark: int) -> None:
        self.watermark = watermark


class OrderedQueue:
    """Everything leaves in the order in which it came."""

    def __init__(self) -> None:
        self._entries: deque[Call | Mark] = deque()
        self.calls = 0

    def add(self, call: Call) -> None:
        """Take a call in."""
        self._entries.append(call)
        self.calls += 1

    def add_mark(self, mark: Mark) -> None:
        """Take a watermark in."""
        self._entries.append(mark)

    def take(self, *, block: bool) -> Call | Mark | None:
        """Take out what leaves next.

        :param block: wait for it; else None if it has not come.
        :returns: None also if the queue is empty.
        """
        if not self._entries:
            return None
        entry = self._entries[0]
        if isinstance(entry, Call):
            if not entry.future.done():
                if not block:
                    return None
                wait([entry.future])
            self.calls -= 1
        return self._entries.popleft()

    def cancel(self) -> None:
        """Give all calls up."""
        for entry in self._entries:
            if isinstance(entry, Call):
                entry.future.cancel()


class UnorderedQueue:
    """Calls leave as they finish, but none overtakes a watermark or is overtaken by one.

    Watermarks part the calls into segments; those of the first segment may leave.
    """

    def __init__(self) -> None:
        self.calls = 0
        self._under_way: set[Call] = set()
        self._finished: SimpleQueue[Call] = SimpleQueue()  # filled by the event loop's thread
        self._ready: deque[Call] = deque()
        self._first = 0  # number of the first segment
        self._counts: deque[int] = deque([0])  # calls that have not left, by segment
        self._marks: deque[Mark] = deque()  # the ends of all segments but the last
        self._held: dict[int, list[Call]] = {}  # finished calls of later segments

    def add(self, call: Call) -> None:
        """Take a call in."""
        call.segment = self._first + len(self._marks)
        self._counts[-1] += 1
        self.calls += 1
        self._under_way.add(call)
        call.future.add_done_callback(lambda _: self._finished.put(call))

    def add_mark(self, mark: Mark) -> None:
        """Take a watermark in."""
        self._marks.append(mark)
        self._counts.append(0)

    def take(self, *, block: bool) -> Call | Mark | None:
        """Take out what leaves next.

        :param block: wait for it; else None if nothing may leave yet.
        :returns: None also if the queue is empty.
        """
        while not self._ready:
            if self._counts[0] == 0:
                return self._end_segment() if self._marks else None
            try:
                call = self._finished.get(block=block)
            except Empty:
                return None
            self._under_way.discard(call)
            if call.segment == self._first:
                self._ready.append(call)
            else:
                self._held.setdefault(call.segment, []).append(call)
        self._counts[0] -= 1
        self.calls -= 1
        return self._ready.popleft()

    def _end_segment(self) -> Mark:
        self._counts.popleft()
        self._first += 1
        self._ready.extend(self._held.pop(self._first, ()))
        return self._marks.popleft()

    def cancel(self) -> None:
        """Give all calls up."""
        for call in self._under_way:
            call.future.cancel()
