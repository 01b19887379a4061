"""Put a trace on operators: a sink that shows how time passes at each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.options import (
    LOCAL_TIME_ZONE,
    TRACE_OPERATOR,
    TRACE_TIMELINE,
    WATERMARK_TRACE,
)
from penstock.connectors.trace_sink import TraceSink
from penstock.connectors.trace_timeline import check_timeline
from penstock.core.watermark_trace import TRACE_TAG
from penstock.errors import GraphError
from penstock.graph.specs import SinkSpec
from penstock.graph.transformations import (
    OperatorTransformation,
    SideOutputTransformation,
    Transformation,
)


def with_trace(
    roots: Sequence[OperatorTransformation], settings: dict[str, Any]
) -> Sequence[OperatorTransformation]:
    """Return the operators of a job, with sinks for the traces that its settings ask for.

    :raises GraphError: if an operator is named that the job does not have.
    """
    if not WATERMARK_TRACE.read(settings):
        return roots
    chosen = _choose(_operators(roots), TRACE_OPERATOR.read(settings))
    timeline = TRACE_TIMELINE.read(settings)
    if timeline is not None:
        check_timeline(timeline)
    zone = LOCAL_TIME_ZONE.read(settings)
    return [*roots, *(_sink(operator, timeline, len(chosen) > 1, zone) for operator in chosen)]


def _operators(roots: Sequence[Transformation]) -> list[OperatorTransformation]:
    found: dict[int, Transformation] = {}
    pending = list(roots)
    while pending:
        each = pending.pop()
        if each.id not in found:
            found[each.id] = each
            pending.extend(each.inputs)
    return [found[i] for i in sorted(found) if isinstance(found[i], OperatorTransformation)]  # type: ignore[misc]


def _choose(
    operators: list[OperatorTransformation], wanted: Sequence[str]
) -> list[OperatorTransformation]:
    for name in wanted:
        if not any(name in (operator.name, operator.uid) for operator in operators):
            raise GraphError(
                "there is no operator of that name to trace",
                where=f"configuration key {TRACE_OPERATOR.key}",
                got=repr(name),
                todo=f"use one of: {', '.join(sorted({each.name for each in operators}))}",
            )
    if wanted:
        return [each for each in operators if each.name in wanted or each.uid in wanted]
    # Windows and joins, or else functions that may have timers.
    ranks = sorted({each.spec.trace_rank for each in operators if each.spec.trace_rank})
    return [each for each in operators if ranks and each.spec.trace_rank == ranks[0]]


def _sink(
    operator: OperatorTransformation, timeline: str | None, several: bool, zone: str | None
) -> OperatorTransformation:
    if timeline is not None and several:
        # One file an operator: its name goes in front of the suffix.
        stem, dot, suffix = timeline.rpartition(".")
        timeline = f"{stem}-{operator.id}{dot}{suffix}"
    trace = SideOutputTransformation(operator, TRACE_TAG, None)
    sink = TraceSink(operator.name, timeline, zone)
    # As many subtasks as the operator has: the trace adds no exchange to the job.
    return OperatorTransformation(
        f"Watermark trace of {operator.name}", SinkSpec(sink), [trace], operator.parallelism
    )
