"""What the subtasks of a source do in a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.core.io import BatchRead, Position, SplitRange
from penstock.graph.plan import ExecutionPlan, PlanOperator
from penstock.graph.specs import SourceSpec
from penstock.runtime.coordinator.control import are_idle, live_splits, mark_last
from penstock.runtime.coordinator.offsets import Offset, ended_sources
from penstock.runtime.coordinator.records import JobState
from penstock.runtime.coordinator.sources import HostedSource


@dataclass(frozen=True)
class SourceShare:
    """A source's part in a batch."""

    operator: PlanOperator
    #: None for one that had ended before the job was started again.
    source: HostedSource | None
    start: Position
    end: Position


def plan_source(
    share: SourceShare, start: Offset, end: Offset, state: JobState
) -> Iterator[BatchRead]:
    """Return what each subtask of a source does in a batch between two offsets."""
    operator, uid = share.operator, share.operator.uid
    ranges: list[list[SplitRange]] = [[] for _ in range(operator.parallelism)]
    if uid not in ended_sources(start):
        assert share.source is not None
        ranges = share.source.plan(share.start, share.end)
    assert isinstance(operator.spec, SourceSpec)
    fixed = operator.spec.source.fixed_splits
    for subtask in range(operator.parallelism):
        splits = live_splits(share.end, subtask)
        yield BatchRead(
            source_id=operator.id,
            subtask=subtask,
            ranges=mark_last(ranges[subtask], splits),
            time=end["time"],
            time_before=start["time"],
            ended=uid in ended_sources(end) or (fixed and not splits),
            splits=splits,
            idle=are_idle(share.end, splits),
            state=state.level0.get((uid, subtask)),
        )


def all_ended(plan: ExecutionPlan, offset: Offset) -> bool:
    """Tell whether the end of every source has been told to a batch."""
    ended = ended_sources(offset)
    return all(operator.uid in ended for operator in plan.sources())
