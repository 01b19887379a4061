"""Answers about a vertex and its subtasks."""

from __future__ import annotations

from collections import Counter
from typing import Any

from penstock.errors import RequestError
from penstock.execution.facts.snapshot import (
    AccumulatorReading,
    JobSnapshot,
    VertexFacts,
    VertexSubtask,
)
from penstock.server.answers.jobs import ENDED, told
from penstock.server.answers.question import Question
from penstock.server.answers.statistics import spread
from penstock.server.answers.tasks import (
    TASK_STATES,
    chain_heads,
    count_states,
    endpoint_of,
    io_of,
    operator_subtask,
    span,
    sum_of_io,
    worker_of,
)

#: Shares of back-pressured time from which Flink calls it low and high.
_LOW, _HIGH = 0.1, 0.5
#: Flink's words, in place of a time, for why there is no flame graph.
_TERMINATED, _DISABLED = -1, -2
#: States that a task passes before it runs: batches begin at once here, so they take no time.
_BEFORE = ("CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING")


def details(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/vertices/:vertexid`."""
    job, vertex = question.job, question.vertex()
    subtasks = [_subtask(job, vertex, subtask) for subtask in vertex.subtasks]
    return {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "maxParallelism": vertex.max_parallelism,
        "now": job.at,
        "subtasks": subtasks,
        "aggregated": _aggregated(subtasks),
    }


def subtask(question: Question) -> dict[str, Any]:
    """Answer `.../subtasks/:subtaskindex`."""
    return _subtask(question.job, question.vertex(), question.subtask())


def attempt(question: Question) -> dict[str, Any]:
    """Answer `.../subtasks/:subtaskindex/attempts/:attempt`: the one that runs, or ran last."""
    found = question.subtask()
    if str(found.attempt) != question.path["attempt"]:
        raise RequestError(404, f"Attempt {question.path['attempt']} of the subtask is not known")
    return _subtask(question.job, question.vertex(), found)


def _subtask(job: JobSnapshot, vertex: VertexFacts, subtask: VertexSubtask) -> dict[str, Any]:
    when = span(subtask.start_time, subtask.end_time, job.at)
    return {
        "subtask": subtask.index,
        "status": subtask.state,
        "attempt": subtask.attempt,
        "endpoint": endpoint_of(job, subtask),
        **when,
        "metrics": io_of(vertex, subtask.index),
        "taskmanager-id": worker_of(job, subtask),
        "status-duration": {**dict.fromkeys(_BEFORE, 0), "RUNNING": max(when["duration"], 0)},
        "start_time": subtask.start_time,
    }


def _aggregated(subtasks: list[dict[str, Any]]) -> dict[str, Any]:
    def over(part: str) -> dict[str, Any]:
        names = [name for name in subtasks[0][part] if not name.endswith("-complete")]
        return {name: spread([one[part][name] for one in subtasks]) for name in names}

    if not subtasks:
        return {"metrics": {}, "status-duration": {}}
    return {"metrics": over("metrics"), "status-duration": over("status-duration")}


def subtask_times(question: Question) -> dict[str, Any]:
    """Answer `.../subtasktimes`."""
    job, vertex = question.job, question.vertex()
    return {
        "id": vertex.id,
        "name": vertex.name,
        "now": job.at,
        "subtasks": [_times(job, subtask) for subtask in vertex.subtasks],
    }


def _times(job: JobSnapshot, subtask: VertexSubtask) -> dict[str, Any]:
    entered = dict.fromkeys(TASK_STATES, 0)
    if subtask.start_time >= 0:
        entered.update(dict.fromkeys((*_BEFORE, "RUNNING"), subtask.start_time))
    if subtask.end_time >= 0:
        entered[subtask.state] = subtask.end_time
    return {
        "subtask": subtask.index,
        "endpoint": endpoint_of(job, subtask),
        "duration": span(subtask.start_time, subtask.end_time, job.at)["duration"],
        "timestamps": entered,
    }


def taskmanagers(question: Question) -> dict[str, Any]:
    """Answer `.../taskmanagers`: the subtasks by what runs them."""
    job, vertex = question.job, question.vertex()
    by_worker: dict[str, list[VertexSubtask]] = {}
    for found in vertex.subtasks:
        by_worker.setdefault(worker_of(job, found), []).append(found)
    return {
        "id": vertex.id,
        "name": vertex.name,
        "now": job.at,
        "taskmanagers": [
            _worker(job, vertex, worker, subtasks) for worker, subtasks in by_worker.items()
        ],
    }


def _worker(
    job: JobSnapshot, vertex: VertexFacts, worker: str, subtasks: list[VertexSubtask]
) -> dict[str, Any]:
    states = Counter(found.state for found in subtasks)
    starts = [found.start_time for found in subtasks if found.start_time >= 0]
    ended = all(found.end_time >= 0 for found in subtasks)
    end = max(found.end_time for found in subtasks) if ended else -1
    return {
        "endpoint": endpoint_of(job, subtasks[0]),
        "status": states.most_common(1)[0][0],
        **span(min(starts, default=-1), end, job.at),
        "metrics": sum_of_io([io_of(vertex, found.index) for found in subtasks]),
        "status-counts": count_states(found.state for found in subtasks),
        "taskmanager-id": worker,
        "aggregated": _aggregated([_subtask(job, vertex, found) for found in subtasks]),
    }


def accumulators(question: Question) -> dict[str, Any]:
    """Answer `.../accumulators`."""
    vertex = question.vertex()
    found: dict[str, AccumulatorReading] = {}
    for index in range(vertex.parallelism):
        for reading in _readings(vertex, index):
            found.setdefault(reading.name, reading)
    whole = {reading.name: reading for reading in question.job.accumulators}
    return {
        "id": vertex.id,
        "user-accumulators": told([whole.get(name, found[name]) for name in found]),
    }


def subtask_accumulators(question: Question) -> dict[str, Any]:
    """Answer `.../subtasks/accumulators`."""
    job, vertex = question.job, question.vertex()
    return {
        "id": vertex.id,
        "parallelism": vertex.parallelism,
        "subtasks": [
            {
                "subtask": found.index,
                "attempt": found.attempt,
                "endpoint": endpoint_of(job, found),
                "user-accumulators": told(_readings(vertex, found.index)),
            }
            for found in vertex.subtasks
        ],
    }


def _readings(vertex: VertexFacts, index: int) -> list[AccumulatorReading]:
    subtasks = (operator_subtask(operator, index) for operator in vertex.operators)
    return [reading for found in subtasks if found is not None for reading in found.accumulators]


def watermarks(question: Question) -> list[dict[str, str]]:
    """Answer `.../watermarks`: a source has that of its output, others that of their input."""
    answer = []
    vertex = question.vertex()
    for found in vertex.subtasks:
        mark = watermark_of(vertex, found.index)
        if mark is not None:
            answer.append({"id": f"{found.index}.currentInputWatermark", "value": str(mark)})
    return answer


def watermark_of(vertex: VertexFacts, index: int) -> int | None:
    """Return the watermark with which a subtask of a chain works."""
    for head in chain_heads(vertex):
        found = operator_subtask(head, index)
        if found is not None:
            return found.output_watermark if head.kind == "source" else found.input_watermark
    return None


def backpressure(question: Question) -> dict[str, Any]:
    """Answer `.../backpressure`."""
    subtasks = [_pressure(found) for found in question.vertex().subtasks]
    level = _level(max((found["ratio"] for found in subtasks), default=0.0))
    return {
        "status": "ok",
        "backpressureLevel": level,
        "backpressure-level": level,
        "end-timestamp": question.job.at,
        "subtasks": subtasks,
    }


def _pressure(subtask: VertexSubtask) -> dict[str, Any]:
    ratio = subtask.backpressured_per_second / 1000
    return {
        "subtask": subtask.index,
        "backpressureLevel": _level(ratio),
        "backpressure-level": _level(ratio),
        "ratio": ratio,
        "idleRatio": subtask.idle_per_second / 1000,
        "busyRatio": subtask.busy_per_second / 1000,
    }


def _level(ratio: float) -> str:
    return "high" if ratio > _HIGH else "low" if ratio > _LOW else "ok"


def flamegraph(question: Question) -> dict[str, Any]:
    """Answer `.../flamegraph`: what Flink says where they are disabled, or the job has ended."""
    question.vertex()
    ended = question.job.state in ENDED
    return {"endTimestamp": _TERMINATED if ended else _DISABLED, "data": None}


def coordinator_metrics(question: Question) -> list[dict[str, str]]:
    """Answer `.../jm-operator-metrics`: operators keep no metrics in the user's process."""
    question.vertex()
    return []
