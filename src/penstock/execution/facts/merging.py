"""Follow a job without asking for all of it each time."""

from __future__ import annotations

from dataclasses import fields, replace

from penstock.execution.facts.snapshot import (
    CheckpointEntry,
    JobSnapshot,
    OperatorFacts,
    Points,
)

#: What is told of the last moments may still change: it is asked for once more.
_OVERLAP_MS = 5000
_KEPT_MS = 600_000
_BATCHES = 600
_CHECKPOINTS = 50


def since_of(known: JobSnapshot) -> int:
    """Return from when on to ask for what has happened since a snapshot was taken."""
    return known.at - _OVERLAP_MS


def merged(known: JobSnapshot, fresh: JobSnapshot, since: int) -> JobSnapshot:
    """Return a snapshot as if all of it had been asked for.

    :param known: what was known before.
    :param fresh: what the job has told from `since` on.
    """
    before = {op.uid: op for vertex in known.vertices for op in vertex.operators}
    vertices = [
        replace(
            vertex,
            operators=[
                replace(op, points=_points(before.get(op.uid), op, since))
                for op in vertex.operators
            ],
        )
        for vertex in fresh.vertices
    ]
    batches = [one for one in known.batches if one.begin + one.duration < since]
    checkpoints = [one for one in known.checkpoints.history if _end(one) < since]
    history = [*checkpoints, *fresh.checkpoints.history][-_CHECKPOINTS:]
    return replace(
        fresh,
        vertices=vertices,
        batches=[*batches, *fresh.batches][-_BATCHES:],
        checkpoints=replace(fresh.checkpoints, history=history),
    )


def _end(entry: CheckpointEntry) -> int:
    return entry.begin + entry.duration


def _points(known: OperatorFacts | None, fresh: OperatorFacts, since: int) -> Points:
    if known is None:
        return fresh.points
    latest = fresh.points.at[-1] if fresh.points.at else since
    old = [i for i, at in enumerate(known.points.at) if latest - _KEPT_MS <= at < since]
    first, end = (old[0], old[-1] + 1) if old else (0, 0)
    columns = (
        getattr(known.points, column.name)[first:end] + getattr(fresh.points, column.name)
        for column in fields(Points)
    )
    return Points(*columns)
