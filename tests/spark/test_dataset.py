"""DataSet programs on Spark: the same results as plain Python, over exchanges and lost workers."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark.shuffle
import pytest
from hypothesis import HealthCheck, given, settings
from pyspark.sql import SparkSession

from penstock.common import Configuration
from penstock.core.functions import IntCounter
from penstock.dataset import DataSetUtils, ExecutionEnvironment, Order
from penstock.dataset.functions import MapFunction, MapPartitionFunction
from penstock.errors import JobFailedError, UserFunctionError
from penstock.graph.dataset.keys import make_key, make_sort_key
from penstock.runtime.dataset.sorting import Sorting
from penstock.spark.dataset.carrier import SpillingTools
from penstock.spark.dataset.session import BatchSession
from penstock.spark.shipment import Shipment
from penstock.spark.worker_environment import WorkerEnvironment
from tests.spark.conftest import MASTER
from tests.unit.dataset.programs import Records, build, judge, records, steps


@pytest.fixture(params=[1, 2, 4])
def any_env(session: SparkSession, request: pytest.FixtureRequest) -> ExecutionEnvironment:
    return _env(request.param)


@pytest.fixture
def env(session: SparkSession) -> ExecutionEnvironment:
    return _env(2)


def _env(parallelism: int) -> ExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("penstock.master", MASTER)
    env = ExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(parallelism)


@given(data=records, program=steps)
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_random_programs(
    any_env: ExecutionEnvironment, data: Records, program: list[tuple[str, Any]]
) -> None:
    assert sorted(build(any_env, data, program).collect()) == sorted(judge(data, program))


@dataclass(frozen=True)
class Reading:
    sensor: str
    value: float


def test_records_and_keys_of_a_dataclass(env: ExecutionEnvironment) -> None:
    readings = [Reading(f"s{n % 3}", float(n)) for n in range(30)]
    highest = env.from_collection(readings).group_by("sensor").max_by("value").collect()
    assert sorted(highest, key=lambda r: r.sensor) == [
        Reading("s0", 27.0),
        Reading("s1", 28.0),
        Reading("s2", 29.0),
    ]
    assert env.from_collection(readings * 2).distinct().count() == 30


def test_a_result_that_two_sinks_need_is_computed_once(
    env: ExecutionEnvironment, tmp_path: Path
) -> None:
    class Slow(MapFunction[int, int]):
        def open(self, runtime_context: Any) -> None:
            self.calls = IntCounter()
            runtime_context.add_accumulator("calls", self.calls)

        def map(self, value: int) -> int:
            self.calls.add(1)
            with open(tmp_path / "calls", "a") as file:
                file.write(".")
            return value * 2

    doubled = env.generate_sequence(1, 10).map(Slow())
    doubled.filter(lambda n: n > 10).write_as_text(tmp_path / "high")
    doubled.filter(lambda n: n <= 10).write_as_text(tmp_path / "low").set_parallelism(1)
    result = env.execute()
    assert result.get_accumulator_result("calls") == 10
    assert len((tmp_path / "calls").read_text()) == 10
    assert (tmp_path / "low").read_text().split() == ["2", "4", "6", "8", "10"]


def test_numbers_over_all_partitions(env: ExecutionEnvironment) -> None:
    numbered = DataSetUtils.zip_with_index(env.from_collection("abcdef")).collect()
    assert numbered == list(enumerate("abcdef"))


def test_a_range_partition_sorts_the_whole(env: ExecutionEnvironment) -> None:
    data = [(n * 7919) % 1000 for n in range(1000)]
    ranges = env.from_collection(data).partition_by_range(0)
    assert ranges.sort_partition(0, Order.ASCENDING).collect() == sorted(data)


def test_a_failing_function_is_told_without_the_jvm(env: ExecutionEnvironment) -> None:
    with pytest.raises(UserFunctionError) as caught:
        env.from_elements(3, 0).map(lambda n: 1 // n).name("divide").collect()
    assert caught.value.got == "record 0"
    assert "java" not in str(caught.value)


def test_a_worker_killed_in_mid_shuffle_changes_nothing(
    env: ExecutionEnvironment, tmp_path: Path
) -> None:
    words = [f"w{n % 50}" for n in range(5000)]

    class DieOnce(MapPartitionFunction[str, str]):
        def map_partition(self, values: Iterable[str]) -> Iterator[str]:
            for number, value in enumerate(values):
                if number == 1000 and not (tmp_path / "died").exists():
                    (tmp_path / "died").touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                yield value

    counts = (
        env.from_collection(words)
        .map(lambda word: (word, 1))
        .group_by(0)
        .sum(1)
        .map_partition(lambda values: values)
        .partition_by_hash(0)
        .map_partition(lambda values: values)
    )
    survived = env.from_collection(words).map_partition(DieOnce()).map(lambda word: (word, 1))
    assert dict(survived.group_by(0).sum(1).collect()) == Counter(words)
    assert (tmp_path / "died").exists()
    assert dict(counts.collect()) == Counter(words)


def test_groups_that_do_not_fit_into_memory_go_to_disk() -> None:
    tools = SpillingTools(megabytes=1)
    before = pyspark.shuffle.DiskBytesSpilled
    pairs = [(n % 30000, n) for n in range(90000)]
    grouped = {key: sorted(values) for key, values in tools.group(iter(pairs), make_key("", [0]))}
    assert grouped == {k: [(k, k), (k, k + 30000), (k, k + 60000)] for k in range(30000)}
    assert dict(tools.merge(iter(pairs), max)) == {key: key + 60000 for key in range(30000)}
    assert (
        list(tools.sort(iter(pairs), Sorting((make_sort_key("", 1, Order.DESCENDING),))))
        == pairs[::-1]
    )
    assert pyspark.shuffle.DiskBytesSpilled > before


def test_an_action_whose_worker_died_is_tried_again(session: SparkSession) -> None:
    batch = BatchSession(session.sparkContext, Shipment("", "", ""), WorkerEnvironment())
    answers: list[Any] = [Exception("Python worker exited unexpectedly (crashed)"), "done"]

    def action() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert batch.run(action) == "done"
    answers += [Exception("something else"), "not asked for"]
    with pytest.raises(JobFailedError):
        batch.run(action)
