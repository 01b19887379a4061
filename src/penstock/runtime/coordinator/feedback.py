"""Iterations: hand what a batch has sent back to the source at the head of its iteration."""

from __future__ import annotations

from collections.abc import Container, Mapping

from penstock.graph.plan import ExecutionPlan
from penstock.runtime.coordinator.records import JobState
from penstock.runtime.coordinator.sources import HostedSource


def offer_feedback(
    plan: ExecutionPlan,
    sources: Mapping[str, HostedSource],
    state: JobState,
    ended: Container[str],
) -> None:
    """Tell the heads of iterations what came back, before the next batch is decided or planned.

    :param ended: uids of the sources that have ended.
    """
    heads = set(plan.feedback().values())
    if not heads:
        return
    others_ended = all(op.uid in ended for op in plan.sources() if op.uid not in heads)
    for uid in heads:
        if uid in sources and uid not in ended:
            sources[uid].offer(state.feedback.get(uid, []), others_ended)
