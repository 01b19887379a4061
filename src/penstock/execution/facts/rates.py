"""Rates over the last seconds, from counts that only rise."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

#: What a rate is taken over: at least so many milliseconds, if the job has run that long.
SPAN = 10_000
#: Samples are at least so far apart.
_STEP = 500


class RateWindow:
    """Keep some counts of the last seconds.

    >>> window = RateWindow(0, (0,))
    >>> window.add(1000, (50,))
    >>> window.rates(2000)
    (25.0,)
    """

    def __init__(self, at: int, counts: Sequence[float]) -> None:
        self._samples: deque[tuple[int, tuple[float, ...]]] = deque([(at, tuple(counts))])

    def add(self, at: int, counts: Sequence[float]) -> None:
        """Take note of the counts at a time, which does not fall."""
        samples = self._samples
        if len(samples) > 1 and samples[-1][0] - samples[-2][0] < _STEP:
            samples.pop()
        samples.append((at, tuple(counts)))
        while len(samples) > 2 and samples[1][0] <= at - SPAN:
            samples.popleft()

    def rates(self, now: int) -> tuple[float, ...]:
        """Return how much each count has risen a second."""
        samples = self._samples
        last_at, last = samples[-1]
        base_at, base = samples[0]
        for at, counts in samples:
            if at > now - SPAN:
                break
            base_at, base = at, counts
        if base_at == last_at and len(samples) > 1:
            # All samples are old. A long batch may be under way: its like is what counts.
            base_at, base = samples[-2]
            if now - last_at > max(2 * (last_at - base_at), SPAN):
                return tuple(0.0 for _ in last)
            now = last_at
        span = now - base_at
        if span <= 0:
            return tuple(0.0 for _ in last)
        pairs = zip(base, last, strict=True)
        return tuple(max(after - before, 0) * 1000 / span for before, after in pairs)
