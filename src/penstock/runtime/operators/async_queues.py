"""What an asynchronous operator waits for, and the order in which it leaves.

Calls finish on the event loop's thread; everything else happens on the operator's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from queue import Empty, SimpleQueue
from typing import Any


class Call:
    """A record under way, and what became of it once it is `done`."""

    __slots__ = ("done", "error", "result", "segment", "task", "timer", "timestamp", "value")

    def __init__(self, value: Any, timestamp: int | None) -> None:
        self.value = value
        self.timestamp = timestamp
        self.segment = 0
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        # Of the event loop's thread alone:
        self.task: asyncio.Task[Any] | None = None
        self.timer: asyncio.TimerHandle | None = None


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
        #: Filled by the event loop's thread, after the call is marked as done.
        self.finished: SimpleQueue[Call] = SimpleQueue()

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
        # Which calls have finished does not matter here, only that the first one has.
        while not self.finished.empty():
            self.finished.get()
        if not self._entries:
            return None
        entry = self._entries[0]
        if isinstance(entry, Call):
            while not entry.done:
                if not block:
                    return None
                self.finished.get()
            self.calls -= 1
        return self._entries.popleft()

    def under_way(self) -> list[Call]:
        """Return the calls that have not left."""
        return [entry for entry in self._entries if isinstance(entry, Call)]


class UnorderedQueue:
    """Calls leave as they finish, but none overtakes a watermark or is overtaken by one.

    Watermarks part the calls into segments; those of the first segment may leave.
    """

    def __init__(self) -> None:
        self.calls = 0
        #: Filled by the event loop's thread, after the call is marked as done.
        self.finished: SimpleQueue[Call] = SimpleQueue()
        self._under_way: set[Call] = set()
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
                call = self.finished.get(block=block)
            except Empty:
                return None
            if call.segment == self._first:
                self._ready.append(call)
            else:
                self._held.setdefault(call.segment, []).append(call)
        self._counts[0] -= 1
        self.calls -= 1
        call = self._ready.popleft()
        self._under_way.discard(call)
        return call

    def _end_segment(self) -> Mark:
        self._counts.popleft()
        self._first += 1
        self._ready.extend(self._held.pop(self._first, ()))
        return self._marks.popleft()

    def under_way(self) -> list[Call]:
        """Return the calls that have not left."""
        return list(self._under_way)
