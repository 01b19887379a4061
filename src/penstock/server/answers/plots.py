"""Answers that Flink has not: batches, event time, the graph as it is drawn."""

from __future__ import annotations

from typing import Any

from penstock.execution.facts.snapshot import JobSnapshot, OperatorFacts
from penstock.graph.layout import Card, graph_layout
from penstock.server.answers.question import Question


def batches(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/batches`: those from number `since` on, and what all have done."""
    since = question.query_number("since", 0)
    return {
        "records-read": _taken(question.job, "source"),
        "records-written": _taken(question.job, "sink"),
        "batches": [
            {
                "number": batch.number,
                "begin": batch.begin,
                "duration": batch.duration,
                "records-in": batch.records_in,
                "records-out": batch.records_out,
                "phases": batch.phases,
                "watermark": batch.watermark,
                "waited": batch.waited,
            }
            for batch in question.job.batches
            if batch.number >= since
        ],
    }


def _taken(job: JobSnapshot, kind: str) -> int:
    """Return how many records all operators of a kind have taken."""
    return sum(
        one.records_in
        for vertex in job.vertices
        for operator in vertex.operators
        if operator.kind == kind
        for one in operator.subtasks
    )


def event_time(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/event-time`: points from the time `since` on, by operator."""
    since = question.query_number("since", 0)
    return {
        "operators": [
            {"id": operator.id, "name": operator.name, "points": _points(operator, since)}
            for vertex in question.job.vertices
            for operator in vertex.operators
        ]
    }


def _points(operator: OperatorFacts, since: int) -> list[list[int | None]]:
    points = operator.points
    columns = (points.at, points.watermark, points.records_in, points.late_dropped, points.fired,
        points.state_rows)  # fmt: skip
    return [
        list(row) for row in zip(*columns, strict=True) if row[0] is not None and row[0] >= since
    ]


def layout(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/layout`."""
    cards = [
        Card(vertex.id, vertex.name, [(each.id, each.name) for each in vertex.operators])
        for vertex in question.job.vertices
    ]
    edges = [
        (edge.vertex, vertex.id, edge.ship_strategy)
        for vertex in question.job.vertices
        for edge in vertex.inputs
    ]
    return graph_layout(cards, edges)
