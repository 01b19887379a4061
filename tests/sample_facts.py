"""A snapshot as a running job has it: two sources' chains, a key_by, a window, a side output."""

from __future__ import annotations

from penstock.core.time import MAX_WATERMARK
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

JOB_ID = "5f2b9c7d1e3a4f60a1b2c3d4e5f60718"
SOURCE = "cbc357ccb763df2852fee8c4fc7d55f2"
WINDOW = "90bea66de1c231edf33913ecd54406c1"
LATE = "ea632d67b7d595e5b851708ae9ad79d6"
BEGIN = 1_790_000_000_000
SECONDS = 90


def sample_snapshot(state: str = "RUNNING") -> JobSnapshot:
    """Return the facts of a job that has run for a minute and a half, and failed once."""
    now = BEGIN + SECONDS * 1000
    timestamps = dict.fromkeys(JOB_STATES, 0)
    timestamps.update(
        INITIALIZING=BEGIN, CREATED=BEGIN, RESTARTING=BEGIN + 21_000, RUNNING=BEGIN + 22_000
    )
    ended = state in ("FINISHED", "CANCELED", "FAILED")
    timestamps[state] = timestamps[state] or now
    return JobSnapshot(
        job_id=JOB_ID,
        name="orders",
        state=state,
        timestamps=timestamps,
        start_time=BEGIN,
        end_time=now if ended else -1,
        at=now,
        mode="STREAMING",
        attempt=1,
        slots=2,
        levels=1,
        vertices=_vertices(state, now, ended),
        batches=[_batch(number) for number in range(60)],
        batch_count=60,
        checkpoints=_checkpoints(),
        failures=[_failure()],
        accumulators=[
            AccumulatorReading("orders", "IntCounter", 90_000),
            AccumulatorReading("mean", "AverageAccumulator", 12.5),
        ],
        configuration={
            "parallelism.default": "2",
            "pipeline.name": "orders",
            "s3.secret-key": "******",
            "execution.checkpointing.interval": "10 s",
        },
        workers=[
            WorkerFacts(
                f"worker-host:{pid}", "worker-host", pid, "driver", now - 400, 180 << 20,
                [f"{SOURCE}:{i}", f"{WINDOW}:{i}", f"{LATE}:{i}"],
            )
            for i, pid in enumerate((4711, 4712))
        ],
        master="local[2]",
        host="worker-host",
        pid=4700,
        engine_slots=2,
        logs=[LogFile("job.log", "/var/log/penstock/orders/job.log", "job"),
              LogFile("spark.log", "/var/log/penstock/orders/spark.log", "spark")],
        version="0.1",
    )  # fmt: skip


def _vertices(state: str, now: int, ended: bool) -> list[VertexFacts]:
    source = [
        _operator("orders", SOURCE, "Source: orders", "source", 12, [], False, 90_000, 90_000, 0),
        _operator(
            "parse", "a" * 32, "Parse", "operator", 13, ["orders"], False, 90_000, 88_000, 88_000
        ),
    ]
    window = [
        _operator("totals", WINDOW, "Window", "operator", 17, [], True, 88_000, 660, 60),
        _operator("print", "b" * 32, "Sink: Print", "sink", 20, ["totals"], False, 600, 600,
            600),
    ]  # fmt: skip
    late = [_operator("late", LATE, "Sink: late", "sink", 19, [], False, 60, 60, 60)]
    hashed = VertexInput(0, SOURCE, "HASH", "parse", "totals")
    side = VertexInput(3, WINDOW, "FORWARD", "totals", "late", side_output="late")
    return [
        VertexFacts(SOURCE, "Source: orders -> Parse", 2, 128, 0, "default", [], source,
                    _subtasks(state, now, ended)),
        VertexFacts(WINDOW, "Window -> Sink: Print", 2, 128, 1, "default",
                    [hashed], window, _subtasks(state, now, ended)),
        VertexFacts(LATE, "Sink: late", 2, 128, 1, "default", [side], late,
                    _subtasks(state, now, ended)),
    ]  # fmt: skip


def _subtasks(state: str, now: int, ended: bool) -> list[VertexSubtask]:
    return [
        VertexSubtask(
            index=i,
            state=state,
            attempt=1,
            worker=f"worker-host:{4711 + i}",
            start_time=BEGIN + 22_000,
            end_time=now if ended else -1,
            busy_ms=30_000.0 + 5000 * i,
            idle_ms=20_000.0,
            backpressured_ms=40_000.0 - 5000 * i,
            busy_per_second=330.0 + 60 * i,
            idle_per_second=220.0,
            backpressured_per_second=450.0 - 60 * i,
        )
        for i in range(2)
    ]


def _operator(
    uid: str, operator_id: str, name: str, kind: str, line: int, chained: list[str], keyed: bool,
    records_in: int, records_out: int, sent: int,
) -> OperatorFacts:  # fmt: skip
    subtasks = []
    for i, share in enumerate((0.6, 0.4)):
        took, gave = int(records_in * share), int(records_out * share)
        subtasks.append(
            OperatorSubtask(
                i, took, gave, took * 24, gave * 24,
                took / SECONDS, gave / SECONDS, took * 24 / SECONDS, gave * 24 / SECONDS,
                None if kind == "source" else BEGIN + 80_000 - 1000 * i,
                BEGIN + 80_000 - 1000 * i,
                12 if keyed and i == 0 else 0,
                gave if keyed else 0,
                400 if keyed else 0,
                52_000 if keyed else 0,
                [AccumulatorReading("orders", "IntCounter", took)] if uid == "parse" else [],
                [MetricReading("broken", "counter", 3),
                 MetricReading("parser.rate", "meter", {"count": took, "rate": took / 60})]
                if uid == "parse" else [],
                int(sent * share),
                sent * share / SECONDS,
            )
        )  # fmt: skip
    steps = range(0, SECONDS, 2)
    points = Points(
        [BEGIN + second * 1000 for second in steps],
        [None if second < 4 else BEGIN + second * 1000 - 10_000 for second in steps],
        [records_in * second // SECONDS for second in steps],
        [records_out * second // SECONDS for second in steps],
        [second // 10 if keyed else 0 for second in steps],
        [records_out * second // SECONDS if keyed else 0 for second in steps],
        [400 + second if keyed else 0 for second in steps],
        [330.0 + second for second in steps],
        [450.0 - second for second in steps],
    )
    return OperatorFacts(
        uid, operator_id, name, kind, "orders_job.py", line, 2, 128, chained, keyed, subtasks,
        points,
    )  # fmt: skip


def _batch(number: int) -> BatchFacts:
    phases = {"plan": 4.0, "level 0": 120.0, "level 1": 210.0, "engine": 90.0, "record": 8.0,
              "log": 18.0}  # fmt: skip
    return BatchFacts(
        number, BEGIN + number * 1500, 450, phases, 1500, 11,
        MAX_WATERMARK if number == 59 else BEGIN + number * 1500 - 10_000, 1050,
    )  # fmt: skip


def _checkpoints() -> CheckpointsFacts:
    history = [
        CheckpointEntry(
            number, "SAVEPOINT" if number == 40 else "CHECKPOINT", "COMPLETED",
            BEGIN + number * 1500, 450, 104_000, 2400,
            {"totals": [1500, 800], "orders": [100]}, {"totals": [70_000, 34_000]},
            "file:///tmp/savepoint-5f2b9c-000040" if number == 40 else "file:///tmp/orders",
        )
        for number in range(10, 60)
    ]  # fmt: skip
    restored = RestoredFrom(13, BEGIN + 22_000, "file:///tmp/orders")
    return CheckpointsFacts(60, 0, 1, restored, history)


def _failure() -> FailureFacts:
    return FailureFacts(
        attempt=0,
        at=BEGIN + 21_000,
        root_type="ValueError",
        root_message="could not convert string to float: 'x'",
        text="UserFunctionError: the function of 'Parse' raised ValueError\n"
        "  where: operator 'Parse', built at orders_job.py:13",
        traceback='  File "orders_job.py", line 8, in parse\n    return float(text)\n'
        "ValueError: could not convert string to float: 'x'",
        operator_uid="parse",
        operator_name="Parse",
        subtask=1,
        file="orders_job.py",
        line=8,
        first_line=7,
        source=["def parse(text):", "    return float(text)", ""],
        worker="worker-host:4712",
    )
