"""Ten minutes of an operator, for plots."""

from __future__ import annotations

from collections import deque
from typing import Any

from penstock.execution.facts.snapshot import OperatorFacts, Points

_KEPT_MS = 600_000
#: Points are at least so far apart, but for the last one.
_STEP = 1000


class PointRing:
    """Keep points; the last one is always the newest."""

    def __init__(self) -> None:
        self._points: deque[tuple[Any, ...]] = deque()

    def add(self, at: int, operator: OperatorFacts, busy: float, backpressured: float) -> None:
        """Take note of how an operator stands."""
        points = self._points
        if len(points) > 1 and points[-1][0] - points[-2][0] < _STEP:
            points.pop()
        marks = [one.output_watermark for one in operator.subtasks]
        lowest = None if None in marks else min(mark for mark in marks if mark is not None)
        subtasks = operator.subtasks
        points.append((
            at,
            lowest,
            sum(one.records_in for one in subtasks),
            sum(one.records_out for one in subtasks),
            sum(one.late_dropped for one in subtasks),
            sum(one.fired for one in subtasks),
            sum(one.state_rows for one in subtasks),
            busy,
            backpressured,
        ))  # fmt: skip
        while points[0][0] < at - _KEPT_MS:
            points.popleft()

    def columns(self, since: int = 0) -> Points:
        """Return the points from a time on, as columns."""
        chosen = [point for point in self._points if point[0] >= since]
        return Points(*map(list, zip(*chosen, strict=True))) if chosen else Points()
