"""Parts that answers about jobs and vertices share: states of tasks, sums of what they did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from penstock.execution.facts.metric_values import task_flow
from penstock.execution.facts.snapshot import (
    JobSnapshot,
    OperatorFacts,
    OperatorSubtask,
    VertexFacts,
    VertexSubtask,
)

#: States of a task, as Flink counts them.
TASK_STATES = ("CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING", "FINISHED",
    "CANCELING", "CANCELED", "FAILED", "RECONCILING")  # fmt: skip
#: A vertex is what most concerns whoever looks at its tasks.
_WORST_FIRST = ("FAILED", "CANCELING", "CANCELED", "RUNNING", "INITIALIZING", "DEPLOYING",
    "SCHEDULED", "CREATED", "RECONCILING", "FINISHED")  # fmt: skip


#: What goes in and out of a task, under the names of two parts of Flink's API.
_FLOW = {
    "read-bytes": "numBytesIn",
    "write-bytes": "numBytesOut",
    "read-records": "numRecordsIn",
    "write-records": "numRecordsOut",
}


def count_states(states: Iterable[str]) -> dict[str, int]:
    """Return how many tasks are in each state."""
    found = Counter(states)
    return {state: found[state] for state in TASK_STATES}


def vertex_state(vertex: VertexFacts) -> str:
    """Return the state of all tasks of a vertex in one word."""
    states = {subtask.state for subtask in vertex.subtasks}
    return next((state for state in _WORST_FIRST if state in states), "CREATED")


def io_of(vertex: VertexFacts, index: int) -> dict[str, Any]:
    """Return what one subtask of a chain has read and written, and how it spent its time."""
    told: dict[str, Any] = {}
    flow = task_flow(vertex, index)
    for name, of_flow in _FLOW.items():
        told[name] = flow[of_flow]
        told[f"{name}-complete"] = True
    subtask = vertex_subtask(vertex, index)
    told["accumulated-backpressured-time"] = int(subtask.backpressured_ms) if subtask else 0
    told["accumulated-idle-time"] = int(subtask.idle_ms) if subtask else 0
    told["accumulated-busy-time"] = subtask.busy_ms if subtask else 0.0
    return told


def io_of_vertex(vertex: VertexFacts) -> dict[str, Any]:
    """Return what all subtasks of a chain did together."""
    return sum_of_io([io_of(vertex, subtask.index) for subtask in vertex.subtasks])


def sum_of_io(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return readings of several subtasks in one."""
    names = parts[0] if parts else {}
    return {
        name: all(part[name] for part in parts)
        if name.endswith("-complete")
        else sum(part[name] for part in parts)
        for name in names
    }


def chain_heads(vertex: VertexFacts) -> list[OperatorFacts]:
    """Return the operators that take a chain's input."""
    return [operator for operator in vertex.operators if not operator.chained_to]


def operator_subtask(operator: OperatorFacts, index: int) -> OperatorSubtask | None:
    """Return one instance of an operator."""
    return next((found for found in operator.subtasks if found.index == index), None)


def vertex_subtask(vertex: VertexFacts, index: int) -> VertexSubtask | None:
    """Return one instance of a chain."""
    return next((found for found in vertex.subtasks if found.index == index), None)


def span(start: int, end: int, now: int) -> dict[str, int]:
    """Return begin, end and length of something that may still go on."""
    length = -1 if start < 0 else (end if end >= 0 else now) - start
    return {"start-time": start, "end-time": end, "duration": length}


def vertex_span(vertex: VertexFacts, now: int) -> dict[str, int]:
    """Return when the first task of a vertex began and the last one ended."""
    starts = [subtask.start_time for subtask in vertex.subtasks if subtask.start_time >= 0]
    ends = [subtask.end_time for subtask in vertex.subtasks]
    ended = bool(ends) and min(ends) >= 0
    return span(min(starts, default=-1), max(ends) if ended else -1, now)


def worker_of(job: JobSnapshot, subtask: VertexSubtask) -> str:
    """Return the id under which `/taskmanagers` has what ran a subtask."""
    found = next((worker for worker in job.workers if worker.id == subtask.worker), None)
    if found is None:
        return subtask.worker or "(unassigned)"
    return executor_id(job, found.executor or found.id)


def executor_id(job: JobSnapshot, executor: str) -> str:
    """Return the id of one of Spark's executors: a session has those of several jobs."""
    return f"{job.job_id[:8]}-{executor}".replace(":", "-").replace("/", "-")


def endpoint_of(job: JobSnapshot, subtask: VertexSubtask) -> str:
    """Return host and process of what ran a subtask."""
    return subtask.worker or job.host or "(unassigned)"
