"""Snapshots of jobs, as the answers get them."""

from __future__ import annotations

from dataclasses import replace

from penstock.execution.facts.snapshot import (
    JOB_STATES,
    AccumulatorReading,
    BatchFacts,
    CheckpointEntry,
    CheckpointsFacts,
    FailureFacts,
    JobSnapshot,
    LogFile,
    MetricReading,
    OperatorFacts,
    OperatorSubtask,
    Points,
    RestoredFrom,
    VertexFacts,
    VertexInput,
    VertexSubtask,
    WorkerFacts,
)

JOB_ID = "0123456789abcdef0123456789abcdef"
SOURCE_ID, WINDOW_ID = "a" * 32, "b" * 32
START, NOW = 1_700_000_000_000, 1_700_000_060_000


def sample_job(job_id: str = JOB_ID, **changes: object) -> JobSnapshot:
    """Return a job with a source and a window of two subtasks, one of them ahead."""
    job = JobSnapshot(
        job_id=job_id,
        name="sample",
        state="RUNNING",
        timestamps={**dict.fromkeys(JOB_STATES, 0), "CREATED": START, "RUNNING": START + 1000},
        start_time=START,
        end_time=-1,
        at=NOW,
        mode="STREAMING",
        attempt=1,
        slots=2,
        levels=1,
        vertices=[_source(), _window()],
        batches=[BatchFacts(number, NOW - 100 * (9 - number), 90, {"plan": 10.0, "level 0": 80.0},
            50, 5, NOW - 5000) for number in range(5, 9)],
        batch_count=9,
        checkpoints=_checkpoints(),
        failures=[FailureFacts(0, START + 2000, "ValueError", "no number", "ValueError: no number",
            operator_uid="window", operator_name="Window", subtask=1, file="job.py", line=7,
            first_line=6, source=["a", "b"])],
        accumulators=[AccumulatorReading("seen", "IntCounter", 12)],
        configuration={"parallelism.default": "2", "s3.secret-key": "******"},
        workers=[WorkerFacts("host:41", "host", 41, "driver", NOW, 1 << 20, [f"{WINDOW_ID}:0"])],
        master="local[2]",
        host="host",
        pid=40,
        engine_slots=2,
        logs=[LogFile("job.log", "/nowhere/job.log", "job")],
        version="0.1.0",
    )  # fmt: skip
    return replace(job, **changes)


def _source() -> VertexFacts:
    made = [
        OperatorFacts("numbers", SOURCE_ID, "Source: numbers", "source", "job.py", 3, 2, 128, [],
            False, [_read(0), _read(1)], Points([NOW - 1000, NOW], [None, NOW - 5000], [1, 2],
            [1, 2], [0, 0], [0, 0], [0, 0], [0.0, 0.0], [0.0, 0.0])),
        OperatorFacts("map", "c" * 32, "Map", "operator", "job.py", 4, 2, 128, ["numbers"], False,
            [OperatorSubtask(0, 100, 100, 0, 900, records_sent=100),
             OperatorSubtask(1, 200, 200, 0, 1800, records_sent=200)]),
    ]  # fmt: skip
    subtasks = [
        VertexSubtask(0, "RUNNING", 1, "host:41", START + 1000, -1, 100.0, 800.0, 100.0, 100, 800,
            100),
        VertexSubtask(1, "RUNNING", 1, "host:41", START + 1000, -1, 300.0, 100.0, 600.0, 300, 100,
            600),
    ]  # fmt: skip
    return VertexFacts(
        SOURCE_ID, "Source: numbers -> Map", 2, 128, 0, "default", [], made, subtasks
    )


def _read(index: int) -> OperatorSubtask:
    count = 100 * (index + 1)
    return OperatorSubtask(index, count, count, 0, 0, 10.0, 10.0, output_watermark=NOW - 5000)


def _window() -> VertexFacts:
    counter = MetricReading("my.counter", "counter", 3)
    spread = MetricReading("sizes", "distribution", {"count": 2, "min": 1, "max": 3})
    made = [
        OperatorFacts("window", WINDOW_ID, "Window", "operator", "job.py", 5, 2, 128, [], True, [
            OperatorSubtask(0, 100, 10, 900, 90, 5.0, 0.5, 45.0, 4.5, NOW - 5000, NOW - 5001, 2, 7,
                30, 300, [AccumulatorReading("seen", "IntCounter", 5)], [counter, spread],
                10),
            OperatorSubtask(1, 200, 20, 1800, 180, input_watermark=NOW - 6000, records_sent=20),
        ]),
    ]  # fmt: skip
    edge = VertexInput(0, SOURCE_ID, "HASH", "map", "window")
    subtasks = [
        VertexSubtask(0, "RUNNING", 1, "host:41", START + 1000),
        VertexSubtask(1, "RUNNING", 1, "", START + 1000),
    ]
    return VertexFacts(WINDOW_ID, "Window", 2, 128, 1, "default", [edge], made, subtasks)


def _checkpoints() -> CheckpointsFacts:
    written, state = {"window": [40, 10]}, {"window": [200, 100]}
    sizes = (written, state)
    return CheckpointsFacts(
        3,
        1,
        1,
        RestoredFrom(4, START + 3000, "/ck", False),
        [
            CheckpointEntry(5, "CHECKPOINT", "COMPLETED", NOW - 400, 90, 300, 40, *sizes, "/ck"),
            CheckpointEntry(6, "CHECKPOINT", "FAILED", NOW - 300, 90, 0, 0, failure="disk full"),
            CheckpointEntry(7, "SAVEPOINT", "COMPLETED", NOW - 200, 95, 300, 40, *sizes, "/sp"),
            CheckpointEntry(8, "CHECKPOINT", "COMPLETED", NOW - 100, 80, 310, 50, *sizes, "/ck"),
        ],
    )
