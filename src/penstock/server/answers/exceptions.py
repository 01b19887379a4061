"""Answers about failures."""

from __future__ import annotations

from typing import Any

from penstock.execution.facts.snapshot import FailureFacts, JobSnapshot
from penstock.server.answers.question import Question

#: How many an answer has if nobody asks for another number.
_SHOWN = 20


def history(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/exceptions`, the latest first.

    Beyond Flink an entry has the operator and the lines of the user's program.
    """
    job = question.job
    most = max(question.query_number("maxExceptions", _SHOWN), 0)
    found = job.failures[::-1]
    return {
        "exceptionHistory": {
            "entries": [_entry(job, failure) for failure in found[:most]],
            "truncated": len(found) > most,
        }
    }


def _entry(job: JobSnapshot, failure: FailureFacts) -> dict[str, Any]:
    where = failure.worker or job.host
    return {
        "exceptionName": failure.root_type,
        "stacktrace": failure.text,
        "timestamp": failure.at,
        "failureLabels": {},
        "taskName": _task_name(job, failure),
        "endpoint": where,
        "taskManagerId": where,
        "concurrentExceptions": [],
        "attempt": failure.attempt,
        "message": failure.root_message,
        "traceback": failure.traceback,
        "operator": {
            "uid": failure.operator_uid,
            "name": failure.operator_name,
            "subtask": failure.subtask,
        },
        "source": {
            "file": failure.file,
            "line": failure.line,
            "first-line": failure.first_line,
            "lines": failure.source,
        },
    }


def _task_name(job: JobSnapshot, failure: FailureFacts) -> str | None:
    """Return the task as Flink names it: the chain, subtask of how many, attempt."""
    for vertex in job.vertices:
        if any(operator.uid == failure.operator_uid for operator in vertex.operators):
            place = f" ({failure.subtask + 1}/{vertex.parallelism})" if failure.subtask >= 0 else ""
            return f"{vertex.name}{place} - execution #{failure.attempt}"
    return None
