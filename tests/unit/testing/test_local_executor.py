"""Programs on the in-process engine: right results whatever happens to batches and workers."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Duration, JobStatus, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import JobCancelledError, UserFunctionError
from penstock.execution.executor import JobRequest
from penstock.graph.plan import ExecutionPlan
from penstock.testing.local_executor import LocalExecutor, LocalJob
from tests.unit.testing.recording import Forever, RecordingSink

RECORDS = [(key, number) for number in range(1, 11) for key in ("a", "b", "c")]
SUMS = {key: [sum(range(1, n + 1)) for n in range(1, 11)] for key in ("a", "b", "c")}


def program(
    build: Callable[[DataStream], DataStream], records: list[Any] = RECORDS, parallelism: int = 2
) -> tuple[ExecutionPlan, RecordingSink]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    sink = RecordingSink()
    build(env.from_collection(records)).sink_to(sink)
    return build_plan(env), sink


def sums(stream: DataStream) -> DataStream:
    return stream.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))


def by_key(sink: RecordingSink) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for key, value in sink.values():
        found.setdefault(key, []).append(value)
    return found


@pytest.mark.parametrize("cuts", [None, 1, 2, 7, 100, lambda batch, uid: 1 + batch % 3])
def test_keyed_sums(cuts: Any, tmp_path: Path) -> None:
    plan, sink = program(sums)
    job = LocalJob(plan, tmp_path, cuts=cuts).run()
    assert by_key(sink) == SUMS
    if cuts == 7:
        assert job.batch_id == 5


def test_no_exchange_no_slots(tmp_path: Path) -> None:
    plan, sink = program(lambda stream: stream.map(lambda pair: pair[1] * 2), parallelism=1)
    job = LocalJob(plan, tmp_path, cuts=4).run()
    assert sink.values() == [number * 2 for _, number in RECORDS]
    assert job.stores == {}


@pytest.mark.parametrize(
    "attempts",
    [("a", "a"), ("a", "b"), ("a", "b", "a", "c")],
    ids=["same worker", "another worker", "to and fro"],
)
def test_replays(attempts: tuple[str, ...], tmp_path: Path) -> None:
    plan, sink = program(sums)
    LocalJob(plan, tmp_path, cuts=4).run(attempts)
    assert by_key(sink) == SUMS


def test_slots_that_change_worker_and_envelopes_in_any_order(tmp_path: Path) -> None:
    plan, sink = program(sums)
    chance = random.Random(7)
    job = LocalJob(plan, tmp_path, cuts=3, shuffle=chance)
    while not job.coordinator.finished.is_set():
        job.step([lambda level, subtask: chance.randrange(3)])
    job.close()
    assert by_key(sink) == SUMS


@pytest.mark.parametrize("point", ["asked", "attempted", "committed", "published", "closed"])
def test_a_process_that_dies_and_one_that_goes_on(point: str, tmp_path: Path) -> None:
    plan, sink = program(sums)
    for _ in range(3):
        job = LocalJob(plan, tmp_path, cuts=4)
        job.step()
        job.ask()
        if point != "asked":
            job.attempt()
        if point not in ("asked", "attempted"):
            job.log_commit()
        if point == "published":
            job.ask()
        if point == "closed":
            job.close()
    LocalJob(plan, tmp_path, cuts=4).run()
    assert by_key(sink) == SUMS


class FailsAtRecord(MapFunction):
    """Raise at a record, as often as `failures` says; counted outside, so that it ends."""

    failures = 0

    def __init__(self, record: Any) -> None:
        self.record = record
        self.seen = 0

    def map(self, value: Any) -> Any:
        self.seen += 1
        if value == self.record and FailsAtRecord.failures > 0:
            FailsAtRecord.failures -= 1
            raise ValueError("not this one")
        return value


@pytest.mark.parametrize("behind", [True, False], ids=["in a slot", "at the source"])
def test_a_task_that_failed_half_way_is_retried_in_the_same_worker(
    behind: bool, tmp_path: Path
) -> None:
    if behind:
        plan, sink = program(lambda s: sums(s).map(FailsAtRecord(("b", 10))))
    else:
        plan, sink = program(lambda s: sums(s.map(FailsAtRecord(("b", 4)))), parallelism=1)
    FailsAtRecord.failures = 1
    LocalJob(plan, tmp_path, cuts=8, retries=1).run()
    assert FailsAtRecord.failures == 0
    assert by_key(sink) == SUMS


def test_a_restart_after_a_failing_record_loses_nothing(tmp_path: Path) -> None:
    plan, sink = program(lambda s: sums(s).map(FailsAtRecord(("b", 10))))
    FailsAtRecord.failures = 1
    with pytest.raises(UserFunctionError, match="not this one"):
        LocalJob(plan, tmp_path, cuts=8).run()
    LocalJob(plan, tmp_path, cuts=8).run()
    assert by_key(sink) == SUMS


class Alarm(KeyedProcessFunction):
    """Answer every record 100 ms of processing time later."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 100)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_processing_time()


def test_processing_time_timers_fire_without_data_also_after_a_restart(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    sink = RecordingSink()
    # A source that never ends, and gives its records at once.
    forever = env.from_source(Forever(["x", "y"]), None, "forever")
    forever.key_by(lambda value: value).process(Alarm()).sink_to(sink)
    now = 1_000_000
    job = LocalJob(build_plan(env), tmp_path, clock=lambda: now, poll_ms=0)
    assert job.run_while_there_is_input() == 1
    now += 99
    assert job.step() is None
    job = LocalJob(build_plan(env), tmp_path, clock=lambda: now, poll_ms=0)
    assert job.step() is None
    now += 3
    assert job.run_while_there_is_input() == 1
    assert sorted(sink.values()) == [(key, 1_000_100, 1_000_102) for key in ("x", "y")]
    now += 10**6
    assert job.step() is None
    job.close()


class Reminder(KeyedProcessFunction):
    """Answer three milliseconds of event time after each record."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 3)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield timestamp


def test_a_silent_input_holds_nobody_back_once_it_is_idle(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = (
        WatermarkStrategy.for_monotonous_timestamps()
        .with_timestamp_assigner(lambda record, _: record)
        .with_idleness(Duration.of_seconds(1))
    )
    silent, busy = (
        env.from_source(
            Forever(records), WatermarkStrategy.no_watermarks(), "forever"
        ).assign_timestamps_and_watermarks(strategy)
        for records in ([], [10, 50])
    )
    sink = RecordingSink()
    silent.union(busy).key_by(lambda record: 0).process(Reminder()).sink_to(sink)
    now = 1_000_000
    job = LocalJob(build_plan(env), tmp_path, clock=lambda: now, poll_ms=0)
    assert job.run_while_there_is_input() == 1
    now += 999
    assert job.step() is None
    assert sink.values() == []
    now += 1
    assert job.run_while_there_is_input() == 1
    assert sink.values() == [13]
    now += 60_000
    assert job.step() is None
    job.close()


class CountingMap(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.counter = runtime_context.get_int_counter("records")

    def map(self, value: Any) -> Any:
        self.counter.add(1)
        return value


def test_executor_runs_a_program_to_its_end() -> None:
    plan, sink = program(lambda stream: sums(stream.rebalance().map(CountingMap())))
    handle = LocalExecutor().submit(JobRequest(plan))
    result = handle.wait()
    assert handle.status() is JobStatus.FINISHED
    assert result.get_accumulator_result("records") == len(RECORDS)
    assert {key: max(values) for key, values in by_key(sink).items()} == dict.fromkeys("abc", 55)


def test_executor_reports_what_failed() -> None:
    plan, _ = program(lambda stream: stream.map(lambda pair: pair[1] // 0))
    handle = LocalExecutor().submit(JobRequest(plan))
    with pytest.raises(UserFunctionError, match="ZeroDivisionError"):
        handle.wait()
    assert handle.status() is JobStatus.FAILED


def test_executor_cancels() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_source(Forever([1]), None, "forever").sink_to(RecordingSink())
    handle = LocalExecutor().submit(JobRequest(build_plan(env)))
    assert handle.status() is JobStatus.RUNNING
    began = time.monotonic()
    handle.cancel()
    with pytest.raises(JobCancelledError):
        handle.wait()
    assert time.monotonic() - began < 5
    assert handle.status() is JobStatus.CANCELED


FAILING = """
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment


def check(n):
    raise ValueError("three")


configuration = Configuration().set_string("execution.target", "in-process")
env = StreamExecutionEnvironment.get_execution_environment(configuration)
env.from_collection([1]).map(check).print()
env.execute()
"""


def test_an_error_is_shown_without_what_led_to_it(tmp_path: Path) -> None:
    program = tmp_path / "failing.py"
    program.write_text(FAILING)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True)
    head, _, error = done.stderr.partition("penstock.errors.")
    assert error == (
        "UserFunctionError: check() of operator 'Map' raised ValueError: three\n"
        f"  where: operator 'Map', built at {program}:12\n"
        "  got:   record 1\n"
        "  to do: correct the function, or catch the exception inside it\n"
        "Traceback (most recent call last):\n"
        f'  File "{program}", line 7, in check\n'
        '    raise ValueError("three")\n'
        "ValueError: three\n"
    )
    assert head.startswith("Traceback (most recent call last):\n")
    assert "runtime" not in head and "direct cause" not in head
