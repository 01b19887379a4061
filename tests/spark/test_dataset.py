"""DataSet programs on Spark: the same results as plain Python, over exchanges and lost workers."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark.shuffle
import pytest
from examples.dataset import connected_components, page_rank
from hypothesis import HealthCheck, given, settings
from pyspark.sql import SparkSession

from penstock.common import Configuration
from penstock.core.functions import IntCounter
from penstock.dataset import DataSetUtils, ExecutionEnvironment, Order
from penstock.dataset.functions import MapFunction, MapPartitionFunction, RichMapFunction
from penstock.errors import JobFailedError, UserFunctionError
from penstock.graph.dataset.keys import make_key, make_sort_key
from penstock.runtime.dataset.carrier import COLUMNS
from penstock.runtime.dataset.sorting import Sorting
from penstock.spark.dataset.carrier import SpillingTools
from penstock.spark.dataset.session import BatchSession
from penstock.spark.shipment import Shipment
from penstock.spark.worker_environment import WorkerEnvironment
from tests.spark.conftest import MASTER
from tests.unit.dataset.names import PROGRAMS
from tests.unit.dataset.programs import Records, build, judge, records, steps
from tests.unit.dataset.test_iterations import components, ranks


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


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_every_name(
    env: ExecutionEnvironment,
    tmp_path: Path,
    program: Callable[[ExecutionEnvironment, Path], None],
) -> None:
    program(env, tmp_path)


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


def test_iterations_over_a_random_graph(env: ExecutionEnvironment) -> None:
    chance = random.Random(19)
    edges = [(chance.randint(1, 40), chance.randint(1, 40)) for _ in range(30)]
    vertices = env.from_collection([(n, n) for n in range(1, 41)])
    result = connected_components.components(vertices, env.from_collection(edges))
    assert dict(result.collect()) == components(edges, range(1, 41))
    links = {page: [(page * 3) % 8 + 1, page % 8 + 1] for page in range(1, 9)}
    first = env.from_collection([(page, 1 / 8) for page in links])
    ranked = page_rank.page_ranks(first, env.from_collection(list(links.items())), 8)
    assert dict(ranked.collect()) == pytest.approx(ranks(links, 60, 1e-4), abs=1e-9)


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

    class Count(RichMapFunction[str, tuple[str, int]]):
        def open(self, runtime_context: Any) -> None:
            self.seen = IntCounter()
            runtime_context.add_accumulator("seen", self.seen)

        def map(self, value: str) -> tuple[str, int]:
            self.seen.add(1)
            return value, 1

    survived = env.from_collection(words).map(Count()).map_partition(DieOnce())
    assert dict(survived.group_by(0).sum(1).collect()) == Counter(words)
    assert (tmp_path / "died").exists()
    # A task that was run again counts once.
    result = env.get_last_job_execution_result()
    assert result is not None and result.get_accumulator_result("seen") == len(words)


def test_groups_that_do_not_fit_into_memory_go_to_disk() -> None:
    tools = SpillingTools(megabytes=1)
    before = pyspark.shuffle.DiskBytesSpilled
    pairs = [(n % 30000, n) for n in range(90000)]
    chunks = [tools.pack(0, pairs[at : at + 5000]) for at in range(0, 60000, 5000)]
    later = [(n, [n + 60000]) for n in range(30000)]
    keys, columns = (list(part) for part in zip(*later, strict=True))
    chunks.append(tools.pack(COLUMNS, (keys, [columns])))
    grouped = {key: sorted(values) for key, values in tools.group(iter(chunks), make_key("", [0]))}
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
