"""Answers about checkpoints and savepoints."""

from __future__ import annotations

from typing import Any

from penstock.common.flink_options import (
    CHECKPOINT_FAILURES,
    CHECKPOINT_MODE,
    CHECKPOINT_PAUSE,
    CHECKPOINT_TIMEOUT,
)
from penstock.common.options import CHECKPOINT_INTERVAL, RETENTION
from penstock.errors import RequestError
from penstock.execution.facts.snapshot import CheckpointEntry, JobSnapshot, VertexFacts
from penstock.server.answers.question import Question
from penstock.server.answers.statistics import summary

_NOTHING = {"alignment_buffered": 0, "processed_data": 0, "persisted_data": 0}


def overview(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/checkpoints`."""
    job = question.job
    facts = job.checkpoints
    done = [entry for entry in facts.history if entry.status == "COMPLETED"]
    history = [_entry(job, entry) for entry in reversed(facts.history)]
    return {
        "counts": {
            "restored": facts.restored,
            "total": facts.completed + facts.failed,
            "in_progress": 0,
            "completed": facts.completed,
            "failed": facts.failed,
        },
        "summary": {
            "checkpointed_size": summary([entry.bytes_written for entry in done]),
            "state_size": summary([entry.state_size for entry in done]),
            "end_to_end_duration": summary([entry.duration for entry in done]),
            **{name: summary([0] * len(done)) for name in _NOTHING},
        },
        "latest": {
            "completed": _first(history, "COMPLETED", savepoint=False),
            "savepoint": _first(history, "COMPLETED", savepoint=True),
            "failed": _first(history, "FAILED"),
            "restored": _restored(job),
        },
        "history": history,
    }


def _first(
    history: list[dict[str, Any]], status: str, *, savepoint: bool | None = None
) -> dict[str, Any] | None:
    for entry in history:
        if entry["status"] == status and savepoint in (None, entry["is_savepoint"]):
            return entry
    return None


def _restored(job: JobSnapshot) -> dict[str, Any] | None:
    found = job.checkpoints.restored_from
    if found is None:
        return None
    return {
        "id": found.number,
        "restore_timestamp": found.at,
        "is_savepoint": found.savepoint,
        "external_path": found.path,
    }


def _entry(job: JobSnapshot, entry: CheckpointEntry, *, tasks: bool = False) -> dict[str, Any]:
    subtasks = sum(vertex.parallelism for vertex in job.vertices)
    completed = entry.status == "COMPLETED"
    told: dict[str, Any] = {
        "className": "completed" if completed else "failed",
        "id": entry.number,
        "status": entry.status,
        "is_savepoint": entry.kind == "SAVEPOINT",
        "savepointFormat": "CANONICAL" if entry.kind == "SAVEPOINT" else None,
        "trigger_timestamp": entry.begin,
        "latest_ack_timestamp": entry.begin + entry.duration,
        "checkpointed_size": entry.bytes_written,
        "state_size": entry.state_size,
        "end_to_end_duration": entry.duration,
        **_NOTHING,
        "num_subtasks": subtasks,
        "num_acknowledged_subtasks": subtasks if completed else 0,
        "checkpoint_type": entry.kind,
        "tasks": {v.id: _task(entry, v) for v in job.vertices} if tasks else {},
    }
    if completed:
        return {**told, "external_path": entry.path, "discarded": False}
    return {
        **told,
        "failure_timestamp": entry.begin + entry.duration,
        "failure_message": entry.failure,
    }


def _task(entry: CheckpointEntry, vertex: VertexFacts) -> dict[str, Any]:
    written, state = _sizes(entry.written, vertex), _sizes(entry.state, vertex)
    completed = entry.status == "COMPLETED"
    return {
        "id": entry.number,
        "status": entry.status,
        "latest_ack_timestamp": entry.begin + entry.duration,
        "checkpointed_size": sum(written),
        "state_size": sum(state),
        "end_to_end_duration": entry.duration,
        **_NOTHING,
        "num_subtasks": vertex.parallelism,
        "num_acknowledged_subtasks": vertex.parallelism if completed else 0,
    }


def _sizes(by_operator: dict[str, list[int]], vertex: VertexFacts) -> list[int]:
    """Return bytes by subtask of a vertex: those of all its operators."""
    rows = [by_operator.get(operator.uid, []) for operator in vertex.operators]
    return [
        sum(row[index] for row in rows if index < len(row)) for index in range(vertex.parallelism)
    ]


def details(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/checkpoints/details/:checkpointid`."""
    return _entry(question.job, question.checkpoint(), tasks=True)


def subtasks(question: Question) -> dict[str, Any]:
    """Answer `.../checkpoints/details/:checkpointid/subtasks/:vertexid`.

    A checkpoint ends for all subtasks at once, when its batch is recorded.
    """
    entry, vertex = question.checkpoint(), question.vertex()
    if entry.status != "COMPLETED":
        raise RequestError(404, f"Checkpoint {entry.number} has no statistics of subtasks.")
    task = _task(entry, vertex)
    written, state = _sizes(entry.written, vertex), _sizes(entry.state, vertex)
    count = vertex.parallelism
    nothing = summary([0] * count)
    return {
        **task,
        "summary": {
            "checkpointed_size": summary(written),
            "state_size": summary(state),
            "end_to_end_duration": summary([entry.duration] * count),
            "checkpoint_duration": {"sync": nothing, "async": nothing},
            "alignment": dict.fromkeys(("buffered", "processed", "persisted", "duration"), nothing),
            "start_delay": nothing,
        },
        "subtasks": [
            {
                "className": "completed",
                "index": index,
                "status": "completed",
                "ack_timestamp": entry.begin + entry.duration,
                "end_to_end_duration": entry.duration,
                "checkpointed_size": written[index],
                "state_size": state[index],
                "checkpoint": {"sync": 0, "async": 0},
                "alignment": {"buffered": 0, "processed": 0, "persisted": 0, "duration": 0},
                "start_delay": 0,
                "unaligned_checkpoint": False,
                "aborted": False,
            }
            for index in range(count)
        ],
    }


def config(question: Question) -> dict[str, Any]:
    """Answer `/jobs/:jobid/checkpoints/config`."""
    settings = question.job.configuration
    interval = CHECKPOINT_INTERVAL.read(settings)
    retained = RETENTION.read(settings)
    return {
        "mode": CHECKPOINT_MODE.read(settings).lower(),
        # Without an interval every batch is a checkpoint.
        "interval": 0 if interval is None else interval.to_millis(),
        "timeout": CHECKPOINT_TIMEOUT.read(settings).to_millis(),
        "min_pause": CHECKPOINT_PAUSE.read(settings).to_millis(),
        "max_concurrent": 1,
        "externalization": {
            "enabled": retained != "NO_EXTERNALIZED_CHECKPOINTS",
            "delete_on_cancellation": retained != "RETAIN_ON_CANCELLATION",
        },
        "state_backend": "SparkStateStore",
        "checkpoint_storage": "FileSystemCheckpointStorage",
        "unaligned_checkpoints": False,
        "tolerable_failed_checkpoints": CHECKPOINT_FAILURES.read(settings),
        "aligned_checkpoint_timeout": 0,
        "checkpoints_after_tasks_finish": True,
        "state_changelog_enabled": True,
        "changelog_periodic_materialization_interval": 0,
        "changelog_storage": "SparkStateStore",
    }
