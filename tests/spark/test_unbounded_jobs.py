"""Jobs without an end: no batches while nothing happens, timers all the same, cancelling."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.common import JobStatus
from penstock.datastream import KeyedProcessFunction, SourceFunction, StreamExecutionEnvironment
from penstock.errors import JobCancelledError
from tests.spark.conftest import MakeEnvironment


class Once(SourceFunction):
    """Send one record, then wait for ever."""

    def __init__(self) -> None:
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        ctx.collect("record")
        while self.running:
            time.sleep(0.05)

    def cancel(self) -> None:
        self.running = False


class Later(KeyedProcessFunction):
    """Answer a record half a second after it came."""

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[object]:
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + 500)
        yield "seen", now

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[object]:
        yield "fired", timestamp


def batches(directory: Path) -> int:
    commits = directory.glob("idle*/spark/commits/*")
    return sum(1 for commit in commits if commit.name.isdigit())


def wait_for(condition: object, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_an_idle_job_runs_no_batches_and_can_be_cancelled(
    make_env: MakeEnvironment, tmp_path: Path
) -> None:
    env = make_env(**{"execution.checkpointing.dir": str(tmp_path)})
    env.add_source(Once()).key_by(lambda value: value).process(Later()).print()
    job = env.submit("idle")
    # One that opens, one for the record and one for the timer.
    wait_for(lambda: batches(tmp_path) >= 3)
    time.sleep(1)
    before = batches(tmp_path)
    time.sleep(2)
    assert batches(tmp_path) == before <= 4
    assert job.status() is JobStatus.RUNNING

    job.cancel()
    with pytest.raises(JobCancelledError) as caught:
        job.wait()
    assert str(caught.value) == "the job was cancelled\n  where: job 'idle'"
    assert job.status() is JobStatus.CANCELED
    assert not list(tmp_path.glob("idle*"))


def test_an_iteration_ends_when_nothing_comes_back(env: StreamExecutionEnvironment) -> None:
    iteration = env.from_collection([3, 1]).iterate(500)
    less = iteration.map(lambda number: number - 1)
    iteration.close_with(less.filter(lambda number: number > 0))
    with less.execute_and_collect("iteration") as results:
        assert sorted(results) == [0, 0, 1, 2]


def test_cancelling_is_done_when_the_job_has_ended(env: StreamExecutionEnvironment) -> None:
    env.add_source(Once()).print()
    client = env.execute_async("cancelled")
    client.cancel().result(120)
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_a_timer_fires_without_data(env: StreamExecutionEnvironment) -> None:
    stream = env.add_source(Once()).key_by(lambda value: value).process(Later())
    with stream.execute_and_collect("timers") as results:
        first, seen_at = next(results)
        second, fired_at = next(results)
    assert (first, second) == ("seen", "fired")
    assert fired_at == seen_at + 500
