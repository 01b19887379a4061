"""What is known of a job that runs on Spark: compared with the truth, through a failure."""

from __future__ import annotations

import json
import logging
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Time, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import MapFunction, OutputTag, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import UserFunctionError
from penstock.execution.facts.json_form import from_json
from penstock.execution.facts.snapshot import JobSnapshot, OperatorFacts
from penstock.execution.job_control import find_job
from tests.spark.conftest import MakeEnvironment

LATE = OutputTag("late")
#: Key and time; the last two are late.
RECORDS = [(i % 5, i * 100) for i in range(1000)] + [(1, 5), (2, 7)]

#: How often Spark tries a task (`conftest.MASTER`).
TRIES = 4


class Times(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class FailsOnce(MapFunction):
    """Fail at one record until Spark gives the batch up, and not again; log and count all."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def open(self, runtime_context: RuntimeContext) -> None:
        self.records = runtime_context.get_metrics_group().counter("seen")
        self.total = runtime_context.get_int_counter("total")

    def map(self, value: tuple[int, int]) -> tuple[int, int]:
        self.records.inc()
        self.total.add(1)
        if value[1] == 50_000:
            logging.getLogger("orders").info("half of it is done")
            if not self.marker.exists() or self.marker.stat().st_size < TRIES:
                with self.marker.open("a") as file:
                    file.write(".")
                raise ValueError("the first time it fails")
        return value


def build(env: StreamExecutionEnvironment, marker: Path) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Times())
    pairs = env.from_collection(RECORDS).assign_timestamps_and_watermarks(strategy)
    pairs = pairs.map(FailsOnce(marker)).name("fails once").uid("fails")
    kept = pairs.filter(lambda pair: pair[0] != 3).name("kept")
    keyed = kept.flat_map(lambda pair: [pair, pair]).name("twice").key_by(lambda pair: pair[0])
    windowed = keyed.window(TumblingEventTimeWindows.of(Time.seconds(10)))
    sums = windowed.side_output_late_data(LATE).reduce(lambda a, b: (a[0], b[1])).name("windows")
    sums.filter(lambda pair: pair[0] > 0).name("some").print()
    sums.get_side_output(LATE).map(lambda pair: pair).name("late").print()


def operator(job: JobSnapshot, name: str) -> OperatorFacts:
    (found,) = [op for v in job.vertices for op in v.operators if op.name == name]
    return found


def flow(job: JobSnapshot, name: str) -> tuple[int, int]:
    subtasks = operator(job, name).subtasks
    return sum(one.records_in for one in subtasks), sum(one.records_out for one in subtasks)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("facts")


def test_counts_are_true_through_a_failure(make_env: MakeEnvironment, folder: Path) -> None:
    settings = {
        "penstock.batch.max-records": "150",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "2",
        "restart-strategy.fixed-delay.delay": "1 ms",
        "penstock.watermark.records": "1",
        "env.log.dir": str(folder / "logs"),
        "env.log.level": "INFO",
        "penstock.facts-dir": str(folder / "facts"),
        "my.password": "geheim",
    }
    env = make_env(**settings)
    build(env, folder / "marker")
    handle = env.submit("counted")
    handle.wait()

    answer = find_job(handle.job_id).ask("facts", timeout=60)
    assert "geheim" not in json.dumps(answer)
    job = from_json(answer)
    assert flow(job, "Source: Collection Source") == (1002, 1002)
    assert flow(job, "fails once") == (1002, 1002)
    assert flow(job, "kept") == (1002, 802)
    assert flow(job, "twice") == (802, 1604)
    late = 4
    assert flow(job, "windows") == (1604, 40 + late)
    assert flow(job, "some") == (40, 30)
    assert flow(job, "late") == (late, late)
    assert sum(one.fired for one in operator(job, "windows").subtasks) == 40
    sent = sum(one.bytes_out for one in operator(job, "twice").subtasks)
    assert sent == sum(one.bytes_in for one in operator(job, "windows").subtasks) > 1000
    assert sum(batch.records_in for batch in job.batches) == 1002
    assert [batch.number for batch in job.batches] == list(range(job.batch_count))
    for batch in job.batches:
        assert sum(batch.phases.values()) == pytest.approx(batch.duration, abs=2)
        assert {"level 0", "level 1", "engine", "log"} <= batch.phases.keys()

    seen = Counter[str]()
    for one in operator(job, "fails once").subtasks:
        seen.update({metric.name: metric.value for metric in one.metrics})
    assert seen == {"seen": 1002}
    assert [(a.name, a.value) for a in job.accumulators] == [("total", 1002)]

    assert (job.state, job.attempt, job.checkpoints.restored) == ("FINISHED", 1, 1)
    assert job.checkpoints.completed >= job.batch_count
    (failure,) = job.failures
    assert (failure.root_type, failure.root_message) == ("ValueError", "the first time it fails")
    assert (failure.attempt, failure.operator_uid) == (0, "fails")
    assert failure.worker.partition(":")[0] == job.host
    line = failure.source[failure.line - failure.first_line]
    assert line.strip() == 'raise ValueError("the first time it fails")'

    text = (folder / "logs" / handle.job_id / "job.log").read_text()
    assert re.search(r"INFO  \[fails once \([12]/2\)\] orders - half of it is done", text)
    assert "switched from state RUNNING to RESTARTING" in text
    kept = json.loads((folder / "facts" / f"{handle.job_id}.json").read_text())
    assert (kept["state"], kept["job_id"]) == ("FINISHED", handle.job_id)


def test_a_running_job_shows_what_moves(make_env: MakeEnvironment, tmp_path: Path) -> None:
    env = make_env(**{"penstock.batch.max-records": "1000"})
    numbers = env.from_sequence(1, 10**12).set_parallelism(1)
    numbers.key_by(lambda n: n % 7).reduce(max).name("largest").filter(lambda n: n < 0).print()
    handle = env.submit("moving")
    try:
        first = _with_batches(handle, 2)
        second = _with_batches(handle, first.batch_count + 3)
    finally:
        handle.cancel()
        with pytest.raises(Exception, match="cancelled"):
            handle.wait()
    assert flow(second, "largest")[0] > flow(first, "largest")[0] > 0
    largest = next(v for v in second.vertices if v.level == 1)
    for task in largest.subtasks:
        shares = task.busy_per_second, task.idle_per_second, task.backpressured_per_second
        assert sum(shares) == pytest.approx(1000, abs=1)
        assert task.state == "RUNNING"
    assert any(task.busy_ms > 0 for task in largest.subtasks)
    assert sum(one.records_in_per_second for one in operator(second, "largest").subtasks) > 0
    assert sum(one.state_rows for one in operator(second, "largest").subtasks) == 7
    assert second.master.startswith("local")
    assert second.engine_slots >= 1
    ended = handle.snapshot()
    assert ended is not None
    assert ended.state == "CANCELED"
    assert ended.timestamps["CANCELLING"] > 0


def _with_batches(handle: Any, count: int) -> JobSnapshot:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        job: JobSnapshot = handle.snapshot()
        if job.batch_count >= count:
            return job
        time.sleep(0.1)
    raise AssertionError(f"no {count} batches in two minutes")


def test_a_job_that_fails_for_good_says_so(make_env: MakeEnvironment) -> None:
    env = make_env()
    env.from_sequence(1, 3).map(lambda n: 1 // (n - 2)).name("divides").print()
    handle = env.submit("failing")
    with pytest.raises(UserFunctionError):
        handle.wait()
    job = handle.snapshot()
    assert job is not None
    assert (job.state, len(job.failures)) == ("FAILED", 1)
    assert (job.failures[0].operator_name, job.failures[0].root_type) == (
        "divides",
        "ZeroDivisionError",
    )
    assert job.end_time >= job.failures[0].at >= job.start_time
