"""Sources that count: numbered records, dealt to a fixed number of parts, perhaps at a rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from penstock.connectors.positions import (
    by_subtask,
    make_position,
    records_between,
    split_entry,
    subtask_of,
)
from penstock.core.io import (
    EnumeratorContext,
    Position,
    ReadLimit,
    SourceProgress,
    SplitEnumerator,
    SplitRange,
)

#: What a generated record is taken to weigh against a batch's limit in bytes.
_RECORD_BYTES = 16


class Part(NamedTuple):
    """One of several parts, by name: `1-of-4` is the second of four.

    The name says all, so that parts stay the same when the parallelism changes.

    >>> Part.named("1-of-4").size(10)
    3
    """

    number: int
    parts: int

    @classmethod
    def named(cls, name: str) -> Part:
        """Return the part of that name."""
        number, _, parts = name.partition("-of-")
        return cls(int(number), int(parts))

    @property
    def name(self) -> str:
        """Return the part's name."""
        return f"{self.number}-of-{self.parts}"

    def size(self, total: int) -> int:
        """Return how many of `total` records are in this part."""
        return (total - self.number + self.parts - 1) // self.parts

    def before(self, total: int) -> int:
        """Return how many of `total` records are in the parts in front of this one."""
        each, extra = divmod(total, self.parts)
        return each * self.number + min(self.number, extra)


class Pace:
    """Let records through at a rate, the first one at once.

    Time that was lost is made up for by at most one second's worth of records.

    :param rate: records a second.
    :param now: gives processing time in epoch milliseconds.
    """

    def __init__(self, rate: float, now: Callable[[], int]) -> None:
        self._rate = rate
        self._now = now
        self._base = 0
        self._since: int | None = None

    def allowed(self, emitted: int) -> int:
        """Return how many records may have been emitted by now."""
        now = self._now()
        if self._since is None:
            self._since, self._base = now, emitted
        due = self._base + 1 + math.floor((now - self._since) * self._rate / 1000)
        if due - emitted > max(self._rate, 1):
            self._since, self._base = now - 1000, emitted
            due = emitted + max(math.floor(self._rate), 1)
        return max(due, emitted)

    def due_after(self, emitted: int) -> int | None:
        """Return when the record after `emitted` ones is due."""
        if self._since is None:
            return None
        return self._since + math.ceil((emitted - self._base) * 1000 / self._rate)


class CountedEnumerator(SplitEnumerator):
    """Count `total` records (None: without end) in equal parts, one a subtask.

    A part's place is how many of its records have been read. The parts advance together.
    """

    def __init__(
        self, context: EnumeratorContext, total: int | None, rate: float | None = None
    ) -> None:
        self._context = context
        self._total = total
        self._pace = None if rate is None else Pace(rate, context.now)
        self._wakeup: int | None = None

    def initial(self) -> Position:
        parts = self._context.parallelism
        splits = {}
        for number in range(parts):
            part = Part(number, parts)
            splits[part.name] = split_entry(0, number, done=self._ends(part, 0))
        return make_position(splits)

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        emitted = sum(entry["at"] for entry in start["splits"].values())
        end = emitted + max(1, min(limit.max_records, limit.max_bytes // _RECORD_BYTES))
        if self._total is not None:
            end = min(end, self._total)
        self._wakeup = None
        if self._pace is not None and end > emitted:
            end = min(end, self._pace.allowed(emitted))
            if end == emitted:
                self._wakeup = self._pace.due_after(emitted)
        splits = {}
        for name, entry in start["splits"].items():
            part = Part.named(name)
            at = max(part.size(end), entry["at"])
            subtask = subtask_of(entry, part.number, self._context.parallelism)
            splits[name] = split_entry(at, subtask, done=self._ends(part, at))
        return make_position(splits)

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        ranges = []
        for name, entry in end["splits"].items():
            first = start["splits"][name]["at"]
            if first < entry["at"]:
                ranges.append((entry, SplitRange(name, first, entry["at"])))
        return by_subtask(ranges, self._context.parallelism)

    def next_wakeup(self) -> int | None:
        return self._wakeup

    def progress(self, initial: Position, at: Position) -> SourceProgress:
        read = records_between(initial, at)
        return SourceProgress(read, read / self._total if self._total else None)

    def _ends(self, part: Part, at: int) -> bool:
        return self._total is not None and at >= part.size(self._total)
