"""The numbers of a job under Flink's names: of the job, of a task, of an operator's subtask.

REST answers, Prometheus and the notebook view all have them from here.
"""

from __future__ import annotations

from typing import Any

from penstock.execution.facts.snapshot import JobSnapshot, OperatorSubtask, VertexFacts

#: By name: a number, a truth, a text; None if there is none yet.
Readings = dict[str, Any]
#: Who waits for others for more milliseconds of a second than this is said to be back-pressured.
_MUCH = 500


def job_values(snapshot: JobSnapshot) -> Readings:
    """Return what Flink's job manager has for a job, and what there is of its batches."""
    checkpoints = snapshot.checkpoints
    end = snapshot.end_time if snapshot.end_time >= 0 else snapshot.at
    restored = checkpoints.restored_from
    values: Readings = {
        "uptime": max(end - (snapshot.timestamps.get("RUNNING") or end), 0),
        "downtime": 0,
        "numRestarts": snapshot.attempt,
        "fullRestarts": snapshot.attempt,
        "numberOfCompletedCheckpoints": checkpoints.completed,
        "numberOfFailedCheckpoints": checkpoints.failed,
        "numberOfInProgressCheckpoints": 0,
        "totalNumberOfCheckpoints": checkpoints.completed + checkpoints.failed,
        "lastCheckpointRestoreTimestamp": -1 if restored is None else restored.at,
        "numBatches": snapshot.batch_count,
    }
    done = [entry for entry in checkpoints.history if entry.status == "COMPLETED"]
    if done:
        last = done[-1]
        values |= {
            "lastCheckpointDuration": last.duration,
            "lastCheckpointSize": last.bytes_written,
            "lastCheckpointFullSize": last.state_size,
            "lastCheckpointExternalPath": last.path,
            "lastCheckpointCompletedTimestamp": last.begin + last.duration,
            "lastCompletedCheckpointId": last.number,
        }
    if snapshot.batches:
        values |= {
            "lastBatchDuration": snapshot.batches[-1].duration,
            "lastBatchRecordsIn": snapshot.batches[-1].records_in,
        }
    return values


def task_values(vertex: VertexFacts, index: int) -> Readings:
    """Return what Flink has for one subtask of a chain."""
    task = vertex.subtasks[index]
    return {
        **task_flow(vertex, index),
        "currentInputWatermark": vertex.operators[0].subtasks[index].input_watermark,
        "busyTimeMsPerSecond": task.busy_per_second,
        "idleTimeMsPerSecond": task.idle_per_second,
        "backPressuredTimeMsPerSecond": task.backpressured_per_second,
        "accumulateBusyTimeMs": task.busy_ms,
        "accumulateIdleTimeMs": task.idle_ms,
        "accumulateBackPressuredTimeMs": task.backpressured_ms,
        "isBackPressured": task.backpressured_per_second > _MUCH,
    }


def task_flow(vertex: VertexFacts, index: int) -> Readings:
    """Return what goes in and out of one subtask of a chain.

    In goes what its first operators take. Out goes what any of its operators sends to other chains,
    once for each edge, as in Flink; and what its sinks take.
    """
    inside = [op.subtasks[index] for op in vertex.operators if index < len(op.subtasks)]
    heads = [
        op.subtasks[index]
        for op in vertex.operators
        if not op.chained_to and index < len(op.subtasks)
    ]
    return {
        "numRecordsIn": sum(one.records_in for one in heads),
        "numRecordsInPerSecond": sum(one.records_in_per_second for one in heads),
        "numRecordsOut": sum(one.records_sent for one in inside),
        "numRecordsOutPerSecond": sum(one.records_sent_per_second for one in inside),
        "numBytesIn": sum(one.bytes_in for one in heads),
        "numBytesInPerSecond": sum(one.bytes_in_per_second for one in heads),
        "numBytesOut": sum(one.bytes_out for one in inside),
        "numBytesOutPerSecond": sum(one.bytes_out_per_second for one in inside),
    }


def operator_values(one: OperatorSubtask) -> Readings:
    """Return what Flink has for one subtask of an operator, the size of its state, and what the
    user's functions measure.
    """
    return {
        **_user_values(one),
        "numRecordsIn": one.records_in,
        "numRecordsInPerSecond": one.records_in_per_second,
        "numRecordsOut": one.records_out,
        "numRecordsOutPerSecond": one.records_out_per_second,
        "numBytesIn": one.bytes_in,
        "numBytesInPerSecond": one.bytes_in_per_second,
        "numBytesOut": one.bytes_out,
        "numBytesOutPerSecond": one.bytes_out_per_second,
        "currentInputWatermark": one.input_watermark,
        "currentOutputWatermark": one.output_watermark,
        "numLateRecordsDropped": one.late_dropped,
        "numFiredTimers": one.fired,
        "numStateEntries": one.state_rows,
        "stateSize": one.state_bytes,
    }


def _user_values(one: OperatorSubtask) -> Readings:
    """Return the metrics of the user's functions; meters and distributions give several.

    A meter has its rate under its own name, as in Flink's reporters.
    """
    values: Readings = {}
    for metric in one.metrics:
        if not isinstance(metric.value, dict):
            values[metric.name] = metric.value
            continue
        for part, value in metric.value.items():
            is_rate = metric.kind == "meter" and part == "rate"
            values[metric.name if is_rate else f"{metric.name}_{part}"] = value
    return values
