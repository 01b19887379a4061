"""Answers about a job as a whole."""

from __future__ import annotations

from typing import Any

from penstock.common.options import JOB_PARAMETERS, PARALLELISM, RESTART_TYPE
from penstock.execution.facts.snapshot import AccumulatorReading, JobSnapshot, VertexFacts
from penstock.server.answers.question import Question
from penstock.server.answers.tasks import (
    chain_heads,
    count_states,
    io_of_vertex,
    span,
    vertex_span,
    vertex_state,
)
from penstock.server.java_throwable import failure_cause

#: States of a job that has come to its end.
ENDED = ("FINISHED", "CANCELED", "FAILED", "SUSPENDED")


def details(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid`."""
    job = question.job
    states = [vertex_state(vertex) for vertex in job.vertices]
    return {
        "jid": job.job_id,
        "application-id": job.job_id,
        "name": job.name,
        "isStoppable": False,
        "state": job.state,
        "job-type": job.mode,
        "schedulerType": "Default",
        **span(job.start_time, job.end_time, job.at),
        "maxParallelism": max((vertex.max_parallelism for vertex in job.vertices), default=-1),
        "now": job.at,
        "timestamps": job.timestamps,
        "vertices": [_vertex(job, vertex) for vertex in job.vertices],
        "status-counts": count_states(states),
        "plan": _plan(job),
        "pending-operators": 0,
    }


def _vertex(job: JobSnapshot, vertex: VertexFacts) -> dict[str, Any]:
    return {
        "id": vertex.id,
        "slotSharingGroupId": vertex.slot_sharing_group,
        "name": vertex.name,
        "maxParallelism": vertex.max_parallelism,
        "parallelism": vertex.parallelism,
        "status": vertex_state(vertex),
        **vertex_span(vertex, job.at),
        "tasks": count_states(subtask.state for subtask in vertex.subtasks),
        "metrics": io_of_vertex(vertex),
    }


def overview_of(job: JobSnapshot) -> dict[str, Any]:
    """Return a job's line in `/jobs/overview`."""
    states = [subtask.state for vertex in job.vertices for subtask in vertex.subtasks]
    counts = {state.lower(): count for state, count in count_states(states).items()}
    return {
        "jid": job.job_id,
        "name": job.name,
        "jobType": job.mode,
        "schedulerType": "Default",
        **span(job.start_time, job.end_time, job.at),
        "state": job.state,
        "last-modification": max(job.timestamps.values(), default=job.start_time),
        "tasks": {"total": len(states), **counts},
        "pending-operators": 0,
    }


def status(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/status`."""
    return {"status": question.job.state}


def plan(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/plan`."""
    return {"plan": _plan(question.job)}


def _plan(job: JobSnapshot) -> dict[str, Any]:
    # Flink lists the sinks first.
    nodes = [_node(vertex) for vertex in reversed(job.vertices)]
    return {"jid": job.job_id, "name": job.name, "type": job.mode, "nodes": nodes}


def _node(vertex: VertexFacts) -> dict[str, Any]:
    node: dict[str, Any] = {
        "id": vertex.id,
        "parallelism": vertex.parallelism,
        "operator": "",
        "operator_strategy": "",
        "description": _description(vertex),
        "optimizer_properties": {},
    }
    if vertex.inputs:
        node["inputs"] = [
            {
                "num": number,
                "id": edge.vertex,
                "ship_strategy": edge.ship_strategy,
                "exchange": "pipelined_bounded",
            }
            for number, edge in enumerate(vertex.inputs)
        ]
    return node


def _description(vertex: VertexFacts) -> str:
    """Return the operators of a chain as a tree, as Flink writes it."""
    followers: dict[str, list[str]] = {}
    names = {operator.uid: operator.name for operator in vertex.operators}
    for operator in vertex.operators:
        for uid in operator.chained_to:
            followers.setdefault(uid, []).append(operator.uid)
    lines: list[str] = []
    waiting = [(operator.uid, 0) for operator in reversed(chain_heads(vertex))]
    while waiting:
        uid, depth = waiting.pop()
        lines.append(("   " * (depth - 1) + "+- " if depth else "") + names[uid] + "<br/>")
        waiting += [(follower, depth + 1) for follower in reversed(followers.get(uid, []))]
    return "".join(lines)


def config(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/config`."""
    job = question.job
    settings = job.configuration
    largest = max((vertex.parallelism for vertex in job.vertices), default=1)
    return {
        "jid": job.job_id,
        "name": job.name,
        "execution-config": {
            "restart-strategy": settings.get(RESTART_TYPE.key, "Cluster level default strategy"),
            "job-parallelism": int(settings.get(PARALLELISM.key) or largest),
            "object-reuse-mode": False,
            "user-config": JOB_PARAMETERS.read(settings),
        },
    }


def accumulators(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/accumulators`."""
    return {
        "job-accumulators": [],
        "user-task-accumulators": told(question.job.accumulators),
        "serialized-user-task-accumulators": {},
    }


def told(found: list[AccumulatorReading]) -> list[dict[str, Any]]:
    """Return accumulators as answers have them."""
    return [{"name": one.name, "type": one.type, "value": str(one.value)} for one in found]


def settings(question: Question) -> list[dict[str, str]]:
    """Answer `/jobs/:jobid/jobmanager/config`."""
    found = question.job.configuration
    return [{"key": key, "value": value} for key, value in sorted(found.items())]


def execution_result(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/execution-result`: how it ended, once it has."""
    job = question.job
    if job.state not in ENDED:
        return {"status": {"id": "IN_PROGRESS"}}
    result: dict[str, Any] = {
        "id": job.job_id,
        "application-id": job.job_id,
        "application-status": {"FINISHED": "SUCCEEDED"}.get(job.state, job.state),
        "accumulator-results": {},
        "net-runtime": max(job.end_time - job.start_time, 0),
        "name": job.name,
        "start-time": job.start_time,
        "end-time": job.end_time,
    }
    if job.state == "FAILED" and job.failures:
        last = job.failures[-1]
        result["failure-cause"] = failure_cause(last.root_type, last.text)
    return {"status": {"id": "COMPLETED"}, "job-execution-result": result}


def resource_requirements(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/resource-requirements`: what the program asks for."""
    return {
        vertex.id: {
            "parallelism": {"lowerBound": vertex.parallelism, "upperBound": vertex.parallelism}
        }
        for vertex in question.job.vertices
    }
