"""Where the time of batches goes: phases, and how busy the tasks of each level are.

The levels of a batch run one after another. A task is busy while it works; while later levels of
the same batch work, it is back-pressured: it could go on, but for them. All the rest it is idle: it
waits for earlier levels, for the engine, or for something to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from penstock.core.time import MAX_WATERMARK
from penstock.execution.facts.events import BatchReport, TaskReport
from penstock.execution.facts.rates import RateWindow
from penstock.execution.facts.snapshot import BatchFacts, VertexFacts


class TaskTimes(NamedTuple):
    """Milliseconds since the job's begin, and of each of the last seconds."""

    busy: float
    idle: float
    backpressured: float
    busy_rate: float
    idle_rate: float
    backpressured_rate: float


def batch_facts(
    report: BatchReport, before: Sequence[BatchFacts], kinds: dict[str, str]
) -> BatchFacts:
    """Return what to show of a batch.

    :param before: the batches before it, the latest last.
    :param kinds: `source`, `sink` or `operator`, by uid.
    """
    operators = [one for task in report.tasks for one in task.operators]
    sources = [one for one in operators if kinds.get(one.uid) == "source"]
    marks = [one.output_watermark for one in sources]
    live = [mark for mark in marks if mark is not None and mark < MAX_WATERMARK]
    ended = bool(marks) and all(mark == MAX_WATERMARK for mark in marks)
    waited = report.begin - (before[-1].begin + before[-1].duration) if before else 0
    return BatchFacts(
        number=report.number,
        begin=report.begin,
        duration=max(report.recorded - report.begin, 0),
        phases=phases_of(report),
        records_in=sum(one.records_in for one in sources),
        records_out=sum(one.records_in for one in operators if kinds.get(one.uid) == "sink"),
        watermark=MAX_WATERMARK if ended else min(live, default=None),
        waited=max(waited, 0),
    )


def phases_of(report: BatchReport) -> dict[str, float]:
    """Return milliseconds by phase; the log's share comes when the engine has logged the batch."""
    run = float(max(report.ran - report.planned, 0))
    levels = slowest(report.tasks)
    worked = sum(levels.values())
    # Workers measure by clocks of their own: together they cannot have taken longer than all.
    scale = min(run / worked, 1.0) if worked else 1.0
    phases = {"plan": float(max(report.planned - report.begin, 0))}
    for level, taken in sorted(levels.items()):
        phases[f"level {level}"] = round(taken * scale, 1)
    phases["engine"] = round(max(run - worked, 0.0), 1)
    phases["record"] = float(max(report.recorded - report.ran, 0))
    return phases


def slowest(tasks: Sequence[TaskReport]) -> dict[int, float]:
    """Return by level the milliseconds of the task that took longest."""
    longest: dict[int, float] = {}
    for task in tasks:
        longest[task.level] = max(longest.get(task.level, 0.0), task.seconds * 1000)
    return longest


class _Clock:
    """How long one subtask of a vertex has been busy and back-pressured."""

    def __init__(self, now: int) -> None:
        self.began = now
        self.busy = 0.0
        self.backpressured = 0.0
        self.window = RateWindow(now, (0.0, 0.0))


class BusyTimes:
    """Keep these times for all subtasks of all vertices."""

    def __init__(self, vertices: Sequence[VertexFacts], now: int) -> None:
        self._clocks = {(v.id, one.index): _Clock(now) for v in vertices for one in v.subtasks}
        self._levels = {vertex.id: vertex.level for vertex in vertices}
        self._vertex_of = {op.uid: vertex.id for vertex in vertices for op in vertex.operators}
        #: When the last batch ended.
        self.last_end = now

    def add(self, report: BatchReport) -> None:
        """Take note of a batch."""
        levels = slowest(report.tasks)
        span = float(max(report.recorded - self.last_end, 0))
        self.last_end = max(report.recorded, self.last_end)
        busy: dict[tuple[str, int], float] = {}
        for task in report.tasks:
            for subtask, milliseconds in self._shares(task).items():
                busy[subtask] = busy.get(subtask, 0.0) + milliseconds
        for subtask, clock in self._clocks.items():
            worked = min(busy.get(subtask, 0.0), span)
            later = sum(ms for level, ms in levels.items() if level > self._levels[subtask[0]])
            clock.busy += worked
            clock.backpressured += min(later, span - worked)
            clock.window.add(report.recorded, (clock.busy, clock.backpressured))

    def idle_until(self, now: int) -> None:
        """Take note that nothing more will happen."""
        self.last_end = max(self.last_end, now)

    def means(self, vertex: str) -> tuple[float, float]:
        """Return the milliseconds of a second that a vertex is busy and back-pressured."""
        clocks = [clock for (owner, _), clock in self._clocks.items() if owner == vertex]
        rates = [clock.window.rates(self.last_end) for clock in clocks]
        count = max(len(rates), 1)
        return (
            round(sum(busy for busy, _ in rates) / count, 1),
            round(sum(waiting for _, waiting in rates) / count, 1),
        )

    def times(self, vertex: str, index: int, now: int, *, running: bool) -> TaskTimes:
        """Return the times of one subtask."""
        clock = self._clocks[vertex, index]
        spent = max((now if running else self.last_end) - clock.began, 0)
        busy = min(clock.busy, spent)
        waiting = min(clock.backpressured, spent - busy)
        rates = clock.window.rates(now) if running else (0.0, 0.0)
        busy_rate = min(rates[0], 1000.0)
        waiting_rate = min(rates[1], 1000.0 - busy_rate)
        idle_rate = 1000.0 - busy_rate - waiting_rate if running else 0.0
        numbers = (busy, spent - busy - waiting, waiting, busy_rate, idle_rate, waiting_rate)
        return TaskTimes(*(round(number, 1) for number in numbers))

    def _shares(self, task: TaskReport) -> dict[tuple[str, int], float]:
        """Deal a task's time out to its vertices, by the time that chunks for them took."""
        spent: dict[tuple[str, int], float] = {}
        for one in task.operators:
            subtask = (self._vertex_of[one.uid], one.subtask)
            spent[subtask] = spent.get(subtask, 0.0) + one.seconds
        total = sum(spent.values())
        if not total:
            return {subtask: task.seconds * 1000 / len(spent) for subtask in spent}
        return {subtask: task.seconds * 1000 * share / total for subtask, share in spent.items()}
