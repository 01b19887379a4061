"""The DataSet API on lists: each operator by a small example."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.core.functions import IntCounter
from penstock.dataset import (
    Aggregations,
    ConvergenceCriterion,
    DataSetUtils,
    DiscardingOutputFormat,
    ExecutionEnvironment,
    InputFormat,
    LongSumAggregator,
    Order,
    OutputFormat,
    WriteMode,
)
from penstock.dataset.functions import (
    BroadcastVariableInitializer,
    CoGroupFunction,
    CrossFunction,
    FlatJoinFunction,
    GroupReduceFunction,
    JoinFunction,
    MapFunction,
    MapPartitionFunction,
    Partitioner,
)


@pytest.fixture
def env() -> ExecutionEnvironment:
    return ExecutionEnvironment.create_collections_environment().set_parallelism(2)


PEOPLE = [(1, "ann", 30), (2, "bob", 20), (3, "cid", 20)]
CITIES = [(1, "Rome"), (3, "Oslo"), (9, "Lima")]


def test_map_partition_and_project(env: ExecutionEnvironment) -> None:
    class Sizes(MapPartitionFunction[Any, Any]):
        def map_partition(self, values: Iterable[Any]) -> Iterator[int]:
            yield len(list(values))

    assert env.from_collection(PEOPLE).map_partition(Sizes()).collect() == [1, 2]
    assert env.from_collection(PEOPLE).project(2, 0).collect() == [(30, 1), (20, 2), (20, 3)]


def test_aggregations_over_groups_and_over_all(env: ExecutionEnvironment) -> None:
    people = env.from_collection(PEOPLE)
    by_age = people.group_by(2)
    both = by_age.aggregate(Aggregations.SUM, 0).and_(Aggregations.MAX, 1)
    assert sorted(both.collect()) == [(1, "ann", 30), (5, "cid", 20)]
    assert people.sum(0).and_(Aggregations.MIN, 2).project(0, 2).collect() == [(6, 20)]
    assert people.max_by(2, 0).collect() == [(1, "ann", 30)]
    assert sorted(by_age.min_by(0).collect()) == [(1, "ann", 30), (2, "bob", 20)]
    assert people.filter(lambda p: p[0] > 5).sum(0).collect() == []


def test_a_group_reduce_function_combines_before_records_are_sent(
    env: ExecutionEnvironment,
) -> None:
    class Total(GroupReduceFunction[Any, Any]):
        def combine(self, values: Iterable[Any]) -> Iterator[Any]:
            held = list(values)
            yield held[0][0], sum(v for _, v in held), "combined"

        def reduce(self, values: Iterable[Any]) -> Iterator[Any]:
            held = list(values)
            assert all(len(each) == 3 for each in held)
            yield held[0][0], sum(v for _, v, _ in held)

    data = env.from_collection([(n % 3, n) for n in range(10)])
    assert sorted(data.group_by(0).reduce_group(Total()).collect()) == [(0, 18), (1, 12), (2, 15)]


def test_groups_by_names_and_by_functions(env: ExecutionEnvironment) -> None:
    rows = env.from_collection([{"k": "a", "n": 1}, {"k": "a", "n": 2}, {"k": "b", "n": 5}])
    summed = rows.group_by("k").reduce(lambda a, b: {"k": a["k"], "n": a["n"] + b["n"]})
    assert sorted(row["n"] for row in summed.collect()) == [3, 5]
    words = env.from_elements("ab", "cd", "efg").group_by(len).reduce(lambda a, b: a + b)
    assert sorted(words.collect()) == ["abcd", "efg"]


def test_join_functions_projections_and_outer_joins(env: ExecutionEnvironment) -> None:
    people, cities = env.from_collection(PEOPLE), env.from_collection(CITIES)

    class Lives(JoinFunction[Any, Any, Any]):
        def join(self, first: Any, second: Any) -> str:
            return f"{first[1]} in {second[1] if second else 'nowhere'}"

    class Letters(FlatJoinFunction[Any, Any, Any]):
        def join(self, first: Any, second: Any) -> Iterator[str]:
            yield from second[1][:2]

    joined = people.join(cities).where(0).equal_to(0)
    assert sorted(joined.with_(Lives()).collect()) == ["ann in Rome", "cid in Oslo"]
    projected = (
        people.join_with_tiny(cities).where(0).equal_to(0).project_second(1).project_first(1)
    )
    assert sorted(projected.collect()) == [("Oslo", "cid"), ("Rome", "ann")]
    flat = people.join(cities).where(0).equal_to(0).with_(Letters())
    assert sorted(flat.collect()) == ["O", "R", "o", "s"]
    left = people.left_outer_join(cities).where(0).equal_to(0).with_(Lives())
    assert sorted(left.collect()) == ["ann in Rome", "bob in nowhere", "cid in Oslo"]
    full = people.full_outer_join(cities).where(0).equal_to(0)
    assert sorted(full.collect(), key=str)[-1] == (None, (9, "Lima"))


def test_co_group_sorts_each_side(env: ExecutionEnvironment) -> None:
    class Both(CoGroupFunction[Any, Any, Any]):
        def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
            yield [v for _, v in first], [v for _, v in second]

    a = env.from_elements((1, 3), (1, 1), (2, 5))
    b = env.from_elements((1, 7), (1, 9))
    groups = a.co_group(b).where(0).equal_to(0)
    groups.sort_first_group(1, Order.ASCENDING).sort_second_group(1, Order.DESCENDING)
    assert sorted(groups.with_(Both()).collect()) == [([1, 3], [9, 7]), ([5], [])]


def test_cross(env: ExecutionEnvironment) -> None:
    class Times(CrossFunction[int, int, int]):
        def cross(self, val1: int, val2: int) -> int:
            return val1 * val2

    a, b = env.from_elements(1, 2), env.from_elements(10, 20)
    for crossed in (a.cross(b), a.cross_with_tiny(b), a.cross_with_huge(b)):
        assert sorted(crossed.with_(Times()).collect()) == [10, 20, 20, 40]
    assert sorted(a.cross(b).collect()) == [(1, 10), (1, 20), (2, 10), (2, 20)]


def test_partitions(env: ExecutionEnvironment) -> None:
    class ByHalf(Partitioner[int]):
        def partition(self, key: int, num_partitions: int) -> int:
            return 0 if key < 5 else 1

    numbers = env.generate_sequence(0, 9).partition_custom(ByHalf(), lambda n: n)
    assert numbers.map_partition(lambda values: [sorted(values)]).collect() == [
        [0, 1, 2, 3, 4],
        [5, 6, 7, 8, 9],
    ]
    ranges = env.from_elements(*range(100, 0, -1)).partition_by_range(0)
    low, high = ranges.map_partition(lambda values: [list(values)]).collect()
    assert max(low) < min(high)
    counts = DataSetUtils.count_elements_per_partition(env.generate_sequence(1, 9).rebalance())
    assert sorted(count for _, count in counts.collect()) == [4, 5]


def test_sort_partition_by_two_fields(env: ExecutionEnvironment) -> None:
    data = env.from_elements((1, "b"), (2, "a"), (1, "c")).sort_partition(0, Order.DESCENDING)
    result = data.sort_partition(1, Order.ASCENDING).set_parallelism(1)
    assert result.collect() == [(2, "a"), (1, "b"), (1, "c")]


def test_numbers_and_samples(env: ExecutionEnvironment) -> None:
    letters = env.from_elements(*"abcde")
    assert DataSetUtils.zip_with_index(letters).collect() == list(enumerate("abcde"))
    unique = DataSetUtils.zip_with_unique_id(letters).collect()
    assert len({number for number, _ in unique}) == 5
    numbers = env.generate_sequence(1, 1000)
    assert len(DataSetUtils.sample_with_size(numbers, False, 30, 7).collect()) == 30
    assert 50 < DataSetUtils.sample(numbers, False, 0.1, 7).count() < 150
    assert len(DataSetUtils.sample_with_size(env.from_elements(1), True, 5).collect()) == 5


def test_broadcast_sets_files_parameters_and_counters(
    env: ExecutionEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "names.txt").write_text("one\ntwo\n")
    env.register_cached_file(tmp_path / "names.txt", "names")

    class Lookup(BroadcastVariableInitializer[Any, Any]):
        def initialize_broadcast_variable(self, data: Iterable[Any]) -> dict[Any, Any]:
            return dict(data)

    class Name(MapFunction[int, str]):
        def open(self, runtime_context: Any) -> None:
            self.table = runtime_context.get_broadcast_variable_with_initializer("t", Lookup())
            path = runtime_context.get_distributed_cache().get_file("names")
            self.first = Path(path).read_text().split()[0]
            self.suffix = runtime_context.get_parameters().get_string("suffix", "?")
            self.seen = IntCounter()
            runtime_context.add_accumulator("seen", self.seen)

        def map(self, value: int) -> str:
            self.seen.add(1)
            return f"{self.first}-{self.table[value]}{self.suffix}"

    parameters = Configuration()
    parameters.set_string("suffix", "!")
    table = env.from_elements((1, "x"), (2, "y"))
    named = env.from_elements(1, 2, 1).map(Name()).with_broadcast_set(table, "t")
    assert named.with_parameters(parameters).collect() == ["one-x!", "one-y!", "one-x!"]
    result = env.get_last_job_execution_result()
    assert result is not None and result.get_accumulator_result("seen") == 3


def test_a_bulk_iteration_ends_with_its_criterion(env: ExecutionEnvironment) -> None:
    loop = env.from_elements(1, 5).iterate(1000)
    step = loop.map(lambda n: min(n + 1, 50))
    result = loop.close_with(step, step.filter(lambda n: n < 50))
    assert result.collect() == [50, 50]


def test_supersteps_and_aggregators(env: ExecutionEnvironment) -> None:
    class Step(MapFunction[int, int]):
        def open(self, runtime_context: Any) -> None:
            self.context = runtime_context.get_iteration_runtime_context()
            self.total = self.context.get_iteration_aggregator("total")

        def map(self, value: int) -> int:
            self.total.aggregate(value)
            if self.context.get_superstep_number() == 2:
                assert self.context.get_previous_iteration_aggregate("total") == 3
            return value + 1

    class Enough(ConvergenceCriterion[int]):
        def is_converged(self, iteration: int, value: int) -> bool:
            return value >= 7

    loop = env.from_elements(1, 2).iterate(100)
    loop.register_aggregation_convergence_criterion("total", LongSumAggregator(), Enough())
    assert loop.close_with(loop.map(Step())).collect() == [4, 5]


def test_connected_components_by_a_delta_iteration(env: ExecutionEnvironment) -> None:
    pairs = [(1, 2), (2, 3), (4, 5)]
    edges = env.from_collection(pairs + [(b, a) for a, b in pairs])
    vertices = env.from_collection([(n, n) for n in range(1, 7)])
    loop = vertices.iterate_delta(vertices, 100, 0)
    candidates = (
        loop.get_workset()
        .join(edges)
        .where(0)
        .equal_to(0)
        .with_(lambda vertex, edge: (edge[1], vertex[1]))
        .group_by(0)
        .min(1)
    )
    changed = (
        candidates.join(loop.get_solution_set())
        .where(0)
        .equal_to(0)
        .filter(lambda pair: pair[0][1] < pair[1][1])
        .map(lambda pair: pair[0])
    )
    result = sorted(loop.close_with(changed, changed).collect())
    assert result == [(1, 1), (2, 1), (3, 1), (4, 4), (5, 4), (6, 6)]


def test_text_and_csv_files(env: ExecutionEnvironment, tmp_path: Path) -> None:
    people = env.from_collection(PEOPLE)
    people.write_as_csv(tmp_path / "people", field_delimiter=";")
    people.map(lambda p: p[1]).write_as_text(tmp_path / "names.txt").set_parallelism(1)
    env.execute("write")
    assert sorted(path.name for path in (tmp_path / "people").iterdir()) == ["1", "2"]
    assert (tmp_path / "names.txt").read_text() == "ann\nbob\ncid\n"
    read = env.read_csv_file(tmp_path / "people").field_delimiter(";").types(int, str, int)
    assert sorted(read.collect()) == PEOPLE
    assert sorted(env.read_text_file(tmp_path / "names.txt").collect()) == ["ann", "bob", "cid"]
    people.write_as_text(tmp_path / "people", WriteMode.OVERWRITE).set_parallelism(1)
    env.execute()
    assert (tmp_path / "people").read_text().startswith("(1, 'ann', 30)\n")


def test_csv_options(env: ExecutionEnvironment, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text('id,name,age\n# old\n1,"a,nn",30\nx,bob,20\n3,cid,21\n')
    reader = env.read_csv_file(path).ignore_first_line().ignore_comments("#")
    reader.parse_quoted_strings('"').ignore_invalid_lines().include_fields("110")
    assert reader.types(int, str).collect() == [(1, "a,nn"), (3, "cid")]


def test_formats_of_the_users_own(env: ExecutionEnvironment, tmp_path: Path) -> None:
    class Digits(InputFormat[int]):
        def create_input_splits(self, min_num_splits: int) -> list[Any]:
            return [(0, 3), (3, 5)]

        def read(self, split: Any) -> Iterator[int]:
            yield from range(*split)

    class ToFile(OutputFormat[Any]):
        def open(self, task_number: int, num_tasks: int) -> None:
            self.file = open(tmp_path / f"{task_number}-of-{num_tasks}", "w")  # noqa: SIM115

        def write_record(self, record: Any) -> None:
            self.file.write(f"{record};")

        def close(self) -> None:
            self.file.close()

    digits = env.create_input(Digits())
    digits.output(ToFile())
    digits.output(DiscardingOutputFormat())
    env.execute()
    assert (tmp_path / "0-of-2").read_text() == "0;1;2;"
    assert (tmp_path / "1-of-2").read_text() == "3;4;"


def test_collect_runs_the_sinks_that_wait(env: ExecutionEnvironment, tmp_path: Path) -> None:
    data = env.from_elements("x")
    data.write_as_text(tmp_path / "out").set_parallelism(1)
    assert data.count() == 1
    assert (tmp_path / "out").read_text() == "x\n"


def test_the_plan_as_json(env: ExecutionEnvironment) -> None:
    data = env.from_collection(PEOPLE).group_by(2).sum(0).name("ages")
    data.output(DiscardingOutputFormat())
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert [node["contents"] for node in nodes][1] == "ages"
    assert nodes[1]["predecessors"][0]["ship_strategy"] == "Hash Partition on 2"
