"""Watermark alignment: a source that runs ahead of the others of its group waits for them.

Sources tell their watermarks with every batch, so alignment is kept from batch to batch: a source
may be ahead by the allowed drift and by what one batch reads. An aligned source therefore reads
less in a batch than others may.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from penstock.common.watermark import MAX_WATERMARK, MIN_WATERMARK
from penstock.core.io import ReadLimit
from penstock.graph.plan import ExecutionPlan, PlanOperator
from penstock.runtime.report import SubtaskId

#: Records that an aligned source reads in a batch at most.
ALIGNED_RECORDS = 50_000


def alignment_of(operator: PlanOperator) -> Any:
    """Return the alignment of a source, None if it goes its own way."""
    return getattr(getattr(operator.spec, "strategy", None), "alignment", None)


def bounded(operator: PlanOperator, limit: ReadLimit) -> ReadLimit:
    """Return how much a source may read in a batch."""
    if alignment_of(operator) is None:
        return limit
    return ReadLimit(min(limit.max_records, ALIGNED_RECORDS), limit.max_bytes)


def held_back(
    plan: ExecutionPlan,
    marks: Mapping[SubtaskId, int],
    ended: Collection[str],
) -> set[str]:
    """Return the uids of sources that must not read now.

    :param marks: how far the subtasks of sources are, as of the last batch.
    :param ended: uids of sources that have ended: nobody waits for them.
    """
    groups: dict[str, list[tuple[PlanOperator, int]]] = {}
    for operator in plan.sources():
        alignment = alignment_of(operator)
        if alignment is not None and operator.uid not in ended:
            lowest = _lowest(operator, marks)
            groups.setdefault(alignment.group, []).append((operator, lowest))
    held = set()
    for members in groups.values():
        lowest = min(mark for _, mark in members)
        for operator, mark in members:
            # One that is idle says the largest watermark of all: it is not ahead of anybody.
            if lowest + alignment_of(operator).max_drift_ms < mark < MAX_WATERMARK:
                held.add(operator.uid)
    return held


def _lowest(operator: PlanOperator, marks: Mapping[SubtaskId, int]) -> int:
    """Return the lowest watermark of a source's subtasks."""
    subtasks = ((operator.uid, subtask) for subtask in range(operator.parallelism))
    return min(marks.get(subtask, MIN_WATERMARK) for subtask in subtasks)
