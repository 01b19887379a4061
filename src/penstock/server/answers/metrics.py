"""Metrics at every level, under Flink's names.

Without `get` an answer lists names; with it, values: as text for one thing, as numbers
(least, largest, mean, sum, skew) for many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.common.watermark import MIN_WATERMARK
from penstock.errors import RequestError
from penstock.execution.facts.metric_values import (
    Readings,
    job_values,
    operator_values,
    task_values,
)
from penstock.execution.facts.snapshot import JobSnapshot, OperatorFacts, VertexFacts
from penstock.server.answers.question import Question, number_of
from penstock.server.answers.statistics import number_or_text, skew
from penstock.server.answers.tasks import operator_subtask

#: What Flink replaces in names of metrics.
_REPLACED = str.maketrans({" ": "_", ".": "_", ":": "_", ",": "_"})
_MARKS = ("currentInputWatermark", "currentOutputWatermark")
_AGGREGATIONS = ("min", "max", "avg", "sum", "skew")


# ---- readings ----------------------------------------------------------------------------------


def subtask_readings(vertex: VertexFacts, index: int) -> Readings:
    """Return the metrics of one subtask of a chain, and of each operator in it."""
    readings = _known(task_values(vertex, index))
    for name, operator in _operator_names(vertex):
        found = operator_subtask(operator, index)
        if found is not None:
            for key, value in operator_values(found).items():
                readings[f"{name}.{key}"] = _shown(value) if key in _MARKS else value
    return readings


def _known(readings: Readings) -> Readings:
    return {name: value for name, value in readings.items() if value is not None}


def _shown(watermark: int | None) -> int:
    """Return a watermark as Flink's metric has it: the least number until there is one."""
    return MIN_WATERMARK if watermark is None else watermark


def _operator_names(vertex: VertexFacts) -> list[tuple[str, OperatorFacts]]:
    """Return the operators under the names of their metrics, no two the same."""
    names = [operator.name.translate(_REPLACED) for operator in vertex.operators]
    counts = Counter(names)
    return [
        (name if counts[name] == 1 else f"{name}_{operator.id[:6]}", operator)
        for name, operator in zip(names, vertex.operators, strict=True)
    ]


# ---- answers -----------------------------------------------------------------------------------


def of_job(question: Question) -> list[dict[str, Any]]:
    """Answer `/jobs/:jobid/metrics`."""
    return values(job_values(question.job), question.query)


def of_vertex(question: Question) -> list[dict[str, Any]]:
    """Answer `/jobs/:jobid/vertices/:vertexid/metrics`: names begin with the subtask."""
    vertex = question.vertex()
    readings = {
        f"{subtask.index}.{name}": value
        for subtask in vertex.subtasks
        for name, value in subtask_readings(vertex, subtask.index).items()
    }
    return values(readings, question.query)


def of_subtask(question: Question) -> list[dict[str, Any]]:
    """Answer `.../subtasks/:subtaskindex/metrics`."""
    return values(subtask_readings(question.vertex(), question.subtask().index), question.query)


def of_subtasks(question: Question) -> list[dict[str, Any]]:
    """Answer `.../subtasks/metrics`: all subtasks, or those that `subtasks=0,2-4` names."""
    vertex = question.vertex()
    wanted = _indices(question.query.get("subtasks"))
    return aggregated(
        [
            subtask_readings(vertex, subtask.index)
            for subtask in vertex.subtasks
            if wanted is None or subtask.index in wanted
        ],
        question.query,
    )


def values(readings: Readings, query: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return names, or the values that are asked for as text."""
    if not query.get("get"):
        return [{"id": name} for name in readings]
    wanted = query["get"].split(",")
    return [{"id": name, "value": _text(readings[name])} for name in wanted if name in readings]


def aggregated(parts: Sequence[Readings], query: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return names, or numbers over all parts of the metrics that are asked for.

    :raises RequestError: if the query asks for an aggregation that there is not.
    """
    if not query.get("get"):
        return [{"id": name} for name in dict.fromkeys(name for part in parts for name in part)]
    wanted = query["agg"].split(",") if query.get("agg") else _AGGREGATIONS
    unknown = [name for name in wanted if name not in _AGGREGATIONS]
    if unknown:
        raise RequestError(
            400, f'Cannot resolve query parameter (agg) from value "{",".join(unknown)}".'
        )
    answer = []
    for name in query["get"].split(","):
        numbers = [float(part[name]) for part in parts if _is_number(part.get(name))]
        if numbers:
            answer.append({"id": name, **{how: _aggregate(how, numbers) for how in wanted}})
    return answer


def _aggregate(how: str, numbers: Sequence[float]) -> float | str:
    if how == "min":
        return number_or_text(min(numbers))
    if how == "max":
        return number_or_text(max(numbers))
    if how == "skew":
        return skew(numbers)
    return number_or_text(sum(numbers) / (len(numbers) if how == "avg" else 1))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _indices(text: str | None) -> set[int] | None:
    if not text:
        return None
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low = number_of(first, "subtasks")
        found.update(range(low, number_of(last, "subtasks") + 1 if dash else low + 1))
    return found


def of_jobs(jobs: Iterable[JobSnapshot], query: Mapping[str, str]) -> list[dict[str, Any]]:
    """Answer `/jobs/metrics`: all jobs, or those that `jobs=` names."""
    wanted = query["jobs"].split(",") if query.get("jobs") else None
    return aggregated(
        [job_values(job) for job in jobs if wanted is None or job.job_id in wanted], query
    )
