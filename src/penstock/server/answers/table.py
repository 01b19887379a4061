"""All answers about one job by path, and an archive of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from penstock.errors import RequestError
from penstock.execution.facts.snapshot import JobSnapshot
from penstock.server.answers import (
    checkpoints,
    cluster,
    exceptions,
    jobs,
    metrics,
    plots,
    vertices,
)
from penstock.server.answers.question import Question

Answer = Callable[[Question], Any]

_VERTEX = "/vertices/:vertexid"
_SUBTASK = f"{_VERTEX}/subtasks/:subtaskindex"
#: What is asked for with GET below `/jobs/:jobid`.
JOB_ANSWERS: dict[str, Answer] = {
    "": jobs.details,
    "/status": jobs.status,
    "/plan": jobs.plan,
    "/config": jobs.config,
    "/accumulators": jobs.accumulators,
    "/execution-result": jobs.execution_result,
    "/resource-requirements": jobs.resource_requirements,
    "/jobmanager/config": jobs.settings,
    "/exceptions": exceptions.history,
    "/metrics": metrics.of_job,
    "/checkpoints": checkpoints.overview,
    "/checkpoints/config": checkpoints.config,
    "/checkpoints/details/:checkpointid": checkpoints.details,
    "/checkpoints/details/:checkpointid/subtasks/:vertexid": checkpoints.subtasks,
    "/batches": plots.batches,
    "/event-time": plots.event_time,
    "/layout": plots.layout,
    _VERTEX: vertices.details,
    f"{_VERTEX}/accumulators": vertices.accumulators,
    f"{_VERTEX}/backpressure": vertices.backpressure,
    f"{_VERTEX}/flamegraph": vertices.flamegraph,
    f"{_VERTEX}/jm-operator-metrics": vertices.coordinator_metrics,
    f"{_VERTEX}/metrics": metrics.of_vertex,
    f"{_VERTEX}/subtasktimes": vertices.subtask_times,
    f"{_VERTEX}/taskmanagers": vertices.taskmanagers,
    f"{_VERTEX}/watermarks": vertices.watermarks,
    f"{_VERTEX}/subtasks/accumulators": vertices.subtask_accumulators,
    f"{_VERTEX}/subtasks/metrics": metrics.of_subtasks,
    _SUBTASK: vertices.subtask,
    f"{_SUBTASK}/metrics": metrics.of_subtask,
    f"{_SUBTASK}/attempts/:attempt": vertices.attempt,
}


def archive(job: JobSnapshot) -> list[dict[str, str]]:
    """Return path and answer of all that can be asked about a job that has ended.

    The answer is JSON as a text: an object in its place makes Flink's history server lose all jobs.
    """
    answers = {"/jobs/overview": cluster.jobs_overview([job])}
    for template, answer in JOB_ANSWERS.items():
        for path in _parameters(job, template):
            try:
                found = answer(Question(job, path))
            except RequestError:
                continue  # a failed checkpoint has nothing to say of its subtasks
            answers[_filled(job, template, path)] = found
    return [{"path": path, "json": json.dumps(answer)} for path, answer in answers.items()]


def _filled(job: JobSnapshot, template: str, path: dict[str, str]) -> str:
    for name, value in path.items():
        template = template.replace(f":{name}", value)
    return f"/jobs/{job.job_id}{template}"


def _parameters(job: JobSnapshot, template: str) -> Iterator[dict[str, str]]:
    """Yield all that the parameters of a path can be."""
    numbers = [str(entry.number) for entry in job.checkpoints.history]
    for number in numbers if ":checkpointid" in template else [""]:
        checkpoint = {"checkpointid": number} if number else {}
        if ":vertexid" not in template:
            yield checkpoint
            continue
        for vertex in job.vertices:
            if ":subtaskindex" not in template:
                yield {**checkpoint, "vertexid": vertex.id}
                continue
            for subtask in vertex.subtasks:
                yield {
                    **checkpoint,
                    "vertexid": vertex.id,
                    "subtaskindex": str(subtask.index),
                    "attempt": str(subtask.attempt),
                }
