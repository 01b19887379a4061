"""Accumulators and metrics: from functions to the job's result and its client."""

from __future__ import annotations

import logging
import random
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.datastream import (
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.testing import OneInputHarness
from penstock.testing.local_executor import LocalJob
from tests.unit.process.jobs import plan_of


class Measured(MapFunction):
    """One metric of each kind, and an accumulator."""

    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group()
        self.seen = runtime_context.get_int_counter("seen")
        self.counter = group.counter("records")
        self.sizes = group.add_group("size").distribution("bytes")
        self.meter = group.meter("rate", 10)
        self.last = 0
        group.gauge("last", lambda: self.last)

    def map(self, value: int) -> int:
        self.seen.add(1)
        self.counter.inc()
        self.sizes.update(value)
        self.meter.mark_event()
        self.last = value
        return value


READINGS = {
    "operator.0.records": 3,
    "operator.0.size.bytes": {"count": 3, "sum": 60, "min": 10, "max": 30, "mean": 20.0},
    "operator.0.rate": {"count": 3, "rate": 0.3},
    "operator.0.last": 30,
}


@pytest.mark.parametrize("moved", [False, True], ids=["same worker", "other workers"])
def test_metrics_go_on_in_another_worker(moved: bool) -> None:
    harness = OneInputHarness(Measured(), processing_time=1000)
    for value in (10, 20, 30):
        harness.process_element(value)
        if moved:
            harness.move()
    assert harness.metrics() == READINGS
    assert harness.accumulators() == {"seen": 3}


class Late(MapFunction):
    """Ask for a metric only when it is needed."""

    def map(self, value: int) -> int:
        self.get_runtime_context().get_metrics_group().counter("late").inc(value)
        return value


def test_a_metric_that_is_asked_for_late_keeps_its_count() -> None:
    harness = OneInputHarness(Late())
    for _ in range(3):
        harness.process_element(2)
        harness.move()
    assert harness.metrics() == {"operator.0.late": 6}


class Broken(Measured):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_metrics_group().gauge("broken", lambda: 1 // 0)
        super().open(runtime_context)


def test_a_gauge_that_fails_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    harness = OneInputHarness(Broken(), processing_time=1000)
    for value in (10, 20, 30):
        harness.process_element(value)
    with caplog.at_level(logging.WARNING):
        assert harness.metrics() == READINGS
    assert "metric 'operator.0.broken' cannot be read" in caplog.text


def measured(env: StreamExecutionEnvironment) -> Any:
    stream = env.from_collection(list(range(1, 11))).rebalance()
    return stream.map(Measured()).name("measure")


def summed(metrics: dict[str, Any], name: str) -> int:
    return sum(value for full, value in metrics.items() if full.endswith(name))


def test_they_reach_the_job_whatever_happens_to_its_batches(tmp_path: Path) -> None:
    plan, _ = plan_of(measured, 2)
    chance = random.Random(3)
    for _ in range(3):
        job = LocalJob(plan, tmp_path, cuts=2)
        job.step(["a", "b"])
        job.ask()
        job.attempt()
    job = LocalJob(plan, tmp_path, cuts=2)
    while not job.coordinator.finished.is_set():
        job.step([lambda level, subtask: chance.randrange(2)])
    job.close()
    metrics = job.coordinator.metrics()
    assert summed(metrics, ".records") == 10
    assert sorted(name for name in metrics if name.endswith("records")) == [
        "measure.0.records",
        "measure.1.records",
    ]
    assert sum(metrics[f"measure.{n}.size.bytes"]["sum"] for n in (0, 1)) == 55
    assert job.coordinator.accumulators() == {"seen": 10}


class Keyed(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.records = runtime_context.get_metrics_group().counter("records")
        self.largest = runtime_context.get_histogram("numbers")

    def process_element(self, value: int, ctx: Any) -> Any:
        self.records.inc()
        self.largest.add(value)
        yield value


def in_process() -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.target", "in-process")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    return env


def test_they_reach_the_result_and_the_client() -> None:
    env = in_process()
    env.from_collection([1, 2, 3, 2]).key_by(lambda n: n).process(Keyed()).print()
    client = env.execute_async("counting")
    result = client.get_job_execution_result().result()
    assert result.get_all_accumulator_results() == {"numbers": {1: 1, 2: 2, 3: 1}}
    assert summed(result.get_all_metrics(), ".records") == 4
    assert client.get_metrics().result() == result.get_all_metrics()
    assert client.get_accumulators().result() == result.get_all_accumulator_results()


def test_a_job_without_metrics_has_none() -> None:
    env = in_process()
    env.from_collection([1]).print()
    assert env.execute().get_all_metrics() == {}
