"""The latency workload: records that are due at a rate, and how long after that they come out.

A record carries the time at which it was due, not the one at which its source got round to it: a
source that is held up makes late records, and they count.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LATENCY = "latency"
LATENCY_TITLE = "one keyed level, from source to sink"
KEYS = 1000
NAP_S = 0.001


@dataclass(frozen=True)
class Pace:
    """How many records a second, for how long; what is due before `warm_s` is not measured.

    >>> Pace(rate=100, warm_s=1, measured_s=2).measured
    200
    """

    rate: int
    warm_s: int
    measured_s: int

    @property
    def measured(self) -> int:
        """Return how many records are measured."""
        return self.rate * self.measured_s

    def share(self, parts: int) -> Pace:
        """Return the pace of one of several equal sources."""
        return Pace(self.rate // parts, self.warm_s, self.measured_s)

    def batches(self) -> Iterator[list[tuple[int, int, int]]]:
        """Yield records (key, is it measured, due in microseconds) as they fall due."""
        total = self.rate * (self.warm_s + self.measured_s)
        warm = self.rate * self.warm_s
        start, sent = time.time(), 0
        while sent < total:
            due = min(total, int((time.time() - start) * self.rate))
            yield [
                (i % KEYS, int(i >= warm), int((start + i / self.rate) * 1e6))
                for i in range(sent, due)
            ]
            sent = due
            time.sleep(NAP_S)


class Latencies:
    """How many records took how many milliseconds.

    >>> seen = Latencies()
    >>> seen.add([(1, 1_000_000), (1, 1_998_000), (0, 5)], now=2.0)
    >>> seen.quantile(0.5), seen.quantile(0.99), seen.count
    (2, 1000, 2)
    """

    def __init__(self, counts: dict[str, int] | None = None) -> None:
        self.counts = {int(ms): count for ms, count in (counts or {}).items()}

    def add(self, results: Iterable[tuple[int, int]], now: float) -> None:
        """Take in results (is it measured, due in microseconds) that are out now."""
        for measured, due in results:
            if measured:
                ms = max(0, round(now * 1000 - due / 1000))
                self.counts[ms] = self.counts.get(ms, 0) + 1

    def merge(self, other: Latencies) -> Latencies:
        """Take in what another one has seen."""
        for ms, count in other.counts.items():
            self.counts[ms] = self.counts.get(ms, 0) + count
        return self

    @property
    def count(self) -> int:
        """Return how many there are."""
        return sum(self.counts.values())

    def quantile(self, part: float) -> int:
        """Return the milliseconds within which this part of the records came."""
        seen = 0
        for ms in sorted(self.counts):
            seen += self.counts[ms]
            if seen >= part * self.count:
                return ms
        return 0
