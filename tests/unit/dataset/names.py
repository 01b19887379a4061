"""Small programs over the names of the DataSet API, for any engine.

Each is called with an environment of parallelism 2 and a folder.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common import Configuration, Row, Types
from penstock.core.functions import DoubleCounter, Histogram, IntCounter, ListAccumulator
from penstock.dataset import (
    Aggregations,
    CombineHint,
    DataSetUtils,
    DiscardingOutputFormat,
    ExecutionEnvironment,
    JoinHint,
    Order,
    OutputFormat,
    WriteMode,
)
from penstock.dataset.functions import (
    FilterFunction,
    FlatMapFunction,
    GroupCombineFunction,
    KeySelector,
    Partitioner,
    ReduceFunction,
    RichFilterFunction,
    RichFlatMapFunction,
    RichGroupReduceFunction,
    RichMapFunction,
    RichReduceFunction,
)

Env = ExecutionEnvironment
SALES = [("a", 3, 1.5), ("b", 1, 2.5), ("a", 1, 4.0), ("c", 2, 0.5), ("b", 5, 1.0)]


@dataclass(frozen=True)
class Person:
    name: str
    age: int


def texts(env: Env, folder: Path) -> None:
    deep = folder / "in" / "deeper"
    deep.mkdir(parents=True)
    (folder / "in" / "a.txt").write_text("one\ntwo\n")
    (deep / "b.txt").write_text("three\n")
    with gzip.open(deep / "c.txt.gz", "wt") as file:
        file.write("four\n")
    read = ["four", "one", "three", "two"]
    assert sorted(env.read_text_file(folder / "in").collect()) == read
    assert sorted(env.read_text_file_with_value(folder / "in").collect()) == read
    (folder / "latin.txt").write_bytes("é\n".encode("latin-1"))
    assert env.read_text_file(folder / "latin.txt", "ISO-8859-1").collect() == ["é"]


def primitives(env: Env, folder: Path) -> None:
    (folder / "lines").write_text("1\n2\n3\n")
    (folder / "parted").write_text("1.5|2.5|\n3\n")
    assert sorted(env.read_file_of_primitives(folder / "lines", int).collect()) == [1, 2, 3]
    found = env.read_file_of_primitives(folder / "parted", Types.DOUBLE(), "|").collect()
    assert sorted(found) == [1.5, 2.5, 3.0]


def csv_of_types_and_of_a_class(env: Env, folder: Path) -> None:
    (folder / "p.csv").write_text("ann,30,x\nbob,20,y\n")
    reader = env.read_csv_file(folder / "p.csv").include_fields(True, True)
    assert sorted(reader.types(str, int).collect()) == [("ann", 30), ("bob", 20)]
    people = env.read_csv_file(folder / "p.csv").include_fields("TT").pojo_type(Person)
    assert people.filter(lambda p: p.age > 25).collect() == [Person("ann", 30)]
    swapped = env.read_csv_file(folder / "p.csv").include_fields("110")
    named = swapped.pojo_type(Person, "name", "age").max_by("age").collect()
    assert named == [Person("ann", 30)]


def json_lines_and_parquet(env: Env, folder: Path) -> None:
    (folder / "x.json").write_text('{"a": 1}\n{"a": 2}\n')
    assert sorted(d["a"] for d in env.read_json_lines(folder / "x.json").collect()) == [1, 2]
    pq.write_table(pa.table({"k": ["u", "v"], "n": [1, 2]}), folder / "x.parquet")
    rows = env.read_parquet_file(
        folder / "x.parquet", Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
    )
    assert sorted(rows.map(lambda row: (row.k, row.n)).collect()) == [("u", 1), ("v", 2)]


def records_one_by_one(env: Env, folder: Path) -> None:
    class Twice(FlatMapFunction):
        def flat_map(self, value: int) -> Iterator[int]:
            yield value
            yield value

    class Odd(FilterFunction):
        def filter(self, value: int) -> bool:
            return value % 2 == 1

    numbers = env.generate_sequence(1, 3)
    assert sorted(numbers.flat_map(Twice()).filter(Odd()).collect()) == [1, 1, 3, 3]
    assert sorted(numbers.flat_map(lambda n: range(n)).collect()) == [0, 0, 0, 1, 1, 2]
    assert sorted(numbers.map_partition(lambda ns: [n * 10 for n in ns]).collect()) == [10, 20, 30]
    assert sorted(env.from_collection(SALES).project(1, 0).collect())[0] == (1, "a")


def whole_data_sets(env: Env, folder: Path) -> None:
    class Longest(ReduceFunction):
        def reduce(self, value1: str, value2: str) -> str:
            return max(value1, value2, key=len)

    sales = env.from_collection(SALES)
    assert env.from_elements("a", "abc", "ab").reduce(Longest()).collect() == ["abc"]
    assert sales.reduce_group(lambda rs: [sum(r[1] for r in rs)]).collect() == [12]
    assert sales.sum(1).collect()[0][1] == 12
    assert sales.min(1).collect()[0][1] == 1 and sales.max(1).collect()[0][1] == 5
    both = sales.aggregate(Aggregations.SUM, 1).and_(Aggregations.MAX, 2).collect()[0]
    assert both[1:] == (12, 4.0)
    assert sales.min_by(1, 2).collect() == [("b", 1, 2.5)]
    assert sales.max_by(1).collect() == [("b", 5, 1.0)]
    assert sales.filter(lambda s: False).reduce_group(lambda rs: ["never"]).collect() == []
    assert len(sales.first(3).collect()) == 3 and sales.count() == 5


def groups(env: Env, folder: Path) -> None:
    class First(KeySelector):
        def get_key(self, value: Any) -> str:
            return str(value[0])

    class Partial(GroupCombineFunction):
        def combine(self, values: Iterable[Any]) -> Iterator[Any]:
            held = list(values)
            yield held[0][0], sum(v[1] for v in held)

    sales = env.from_collection(SALES)
    for way in (0, "f0", lambda s: s[0], First()):
        summed = sales.group_by(way).reduce(lambda x, y: (x[0], x[1] + y[1], 0.0))
        assert sorted((r[0], r[1]) for r in summed.collect()) == [("a", 4), ("b", 6), ("c", 2)]
    assert sorted(sales.group_by(0).min(2).project(0, 2).collect())[0] == ("a", 1.5)
    assert sorted(sales.group_by(0).max(2).project(0, 2).collect())[0] == ("a", 4.0)
    assert sorted(sales.group_by(0).max_by(1).collect())[1] == ("b", 5, 1.0)
    assert sorted(sales.group_by(0, 1).sum(2).collect())[0] == ("a", 1, 4.0)
    # Combined where the records are, then summed up: nothing is lost in between.
    partial = sales.group_by(0).combine_group(Partial())
    assert sorted(partial.group_by(0).sum(1).collect()) == [("a", 4), ("b", 6), ("c", 2)]
    totals = sales.combine_group(lambda rs: [sum(r[1] for r in rs)]).collect()
    assert sum(totals) == 12 and len(totals) == 2


def sorted_groups(env: Env, folder: Path) -> None:
    sales = env.from_collection(SALES)
    down = sales.group_by(0).sort_group(1, Order.DESCENDING)
    joined = down.reduce_group(lambda rs: ["".join(f"{r[0]}{r[1]}" for r in rs)])
    assert sorted(joined.collect()) == ["a3a1", "b5b1", "c2"]
    twice = sales.group_by(lambda s: 0).sort_group(1, Order.ASCENDING)
    twice = twice.sort_group(2, Order.DESCENDING)
    assert twice.first(2).collect() == [("a", 1, 4.0), ("b", 1, 2.5)]
    by_function = sales.group_by(0).sort_group(lambda s: -s[2], Order.ASCENDING).first(1)
    assert sorted(by_function.collect()) == [("a", 1, 4.0), ("b", 1, 2.5), ("c", 2, 0.5)]
    assert sorted(sales.group_by(0).first(1).map(lambda s: s[0]).collect()) == ["a", "b", "c"]


def distinct(env: Env, folder: Path) -> None:
    doubled = env.from_collection(SALES + SALES)
    assert sorted(doubled.distinct().collect()) == sorted(SALES)
    assert sorted(s[0] for s in doubled.distinct(0).collect()) == ["a", "b", "c"]
    assert doubled.distinct(0, 1).count() == 5
    assert doubled.distinct(lambda s: s[1] > 2).count() == 2
    assert env.from_elements(Person("a", 1), Person("a", 2)).distinct("name").count() == 1


def joins(env: Env, folder: Path) -> None:
    sales = env.from_collection(SALES)
    shops = env.from_elements(("a", "Rome"), ("b", "Oslo"), ("z", "Lima"))
    expected = [("a", "Rome", 1), ("a", "Rome", 3), ("b", "Oslo", 1), ("b", "Oslo", 5)]

    def named(sale: Any, shop: Any) -> Any:
        return (sale or shop)[0], shop[1] if shop else None, sale[1] if sale else None

    for hint in JoinHint:
        joined = sales.join(shops, hint).where(0).equal_to(0).with_(named)
        assert sorted(joined.collect()) == expected, hint
    for small in (sales.join_with_tiny(shops), sales.join_with_huge(shops)):
        assert sorted(small.where("f0").equal_to("f0").with_(named).collect()) == expected
    by_function = sales.join(shops).where(lambda s: s[0]).equal_to(lambda s: s[0])
    assert by_function.count() == 4
    projected = sales.join(shops).where(0).equal_to(0).project_first(1).project_second(1)
    assert sorted(projected.collect()) == [(1, "Oslo"), (1, "Rome"), (3, "Rome"), (5, "Oslo")]

    def key_of(row: Any) -> Any:
        return row[0], str(row[1]), str(row[2])

    for hint in (JoinHint.OPTIMIZER_CHOOSES, JoinHint.BROADCAST_HASH_SECOND):
        left = sales.left_outer_join(shops, hint).where(0).equal_to(0).with_(named)
        assert sorted(left.collect(), key=key_of) == [*expected, ("c", None, 2)]
    right = sales.right_outer_join(shops).where(0).equal_to(0).with_(named)
    assert sorted(right.collect(), key=key_of) == [*expected, ("z", "Lima", None)]
    full = sales.full_outer_join(shops).where(0).equal_to(0).with_(named)
    assert sorted(full.collect(), key=key_of) == [*expected, ("c", None, 2), ("z", "Lima", None)]


def co_groups_crosses_unions(env: Env, folder: Path) -> None:
    a, b = env.from_elements((1, "x"), (2, "y")), env.from_elements((2, "z"), (3, "w"))
    groups = a.co_group(b).where(0).equal_to(0).with_(lambda xs, ys: [(len([*xs]), len([*ys]))])
    assert sorted(groups.collect()) == [(0, 1), (1, 0), (1, 1)]
    numbers, letters = env.from_elements(1, 2), env.from_elements("p", "q")
    pairs = [(1, "p"), (1, "q"), (2, "p"), (2, "q")]
    assert sorted(numbers.cross(letters).collect()) == pairs
    assert sorted(numbers.cross_with_tiny(letters).collect()) == pairs
    assert sorted(numbers.cross_with_huge(letters).collect()) == pairs
    shown = numbers.cross(letters).with_(lambda n, letter: letter * n)
    assert sorted(shown.collect()) == ["p", "pp", "q", "qq"]
    assert sorted(a.union(b, a).collect()) == sorted([(1, "x"), (2, "y")] * 2 + b.collect())


def partitions(env: Env, folder: Path) -> None:
    class Halves(Partitioner):
        def partition(self, key: int, num_partitions: int) -> int:
            return int(key > 50)

    numbers = env.generate_sequence(1, 100)

    def whole(values: Iterable[int]) -> list[list[int]]:
        return [sorted(values)]

    assert [len(p) for p in numbers.rebalance().map_partition(whole).collect()] == [50, 50]
    hashed = numbers.map(lambda n: (n % 10, n)).partition_by_hash(0)
    keys = hashed.map_partition(lambda rs: [{r[0] for r in rs}]).collect()
    assert sorted(keys[0] | keys[1]) == list(range(10)) and not keys[0] & keys[1]
    low, high = numbers.partition_by_range(0).map_partition(whole).collect()
    assert low[-1] < high[0] and len(low) + len(high) == 100
    high, low = (
        numbers.partition_by_range(0, orders=[Order.DESCENDING]).map_partition(whole).collect()
    )
    assert low[-1] < high[0]
    ours = numbers.partition_custom(Halves(), 0).map_partition(whole).collect()
    assert ours == [[*range(1, 51)], [*range(51, 101)]]
    ordered = numbers.sort_partition(0, Order.DESCENDING).map_partition(lambda ns: [list(ns)])
    assert all(part == sorted(part, reverse=True) for part in ordered.collect())


def numbering_and_sampling(env: Env, folder: Path) -> None:
    letters = env.from_elements(*"abcdefg")
    assert sorted(DataSetUtils.zip_with_index(letters).collect()) == list(enumerate("abcdefg"))
    unique = DataSetUtils.zip_with_unique_id(letters).collect()
    assert len({number for number, _ in unique}) == 7
    numbers = env.generate_sequence(1, 500)
    sample = DataSetUtils.sample(numbers, False, 0.2, 11)
    assert 50 < sample.count() < 150 and sorted(sample.collect()) == sorted(sample.collect())
    assert DataSetUtils.sample(numbers, True, 2.0, 11).count() > 700
    assert DataSetUtils.sample_with_size(numbers, False, 25).count() == 25
    counted = dict(DataSetUtils.count_elements_per_partition(numbers).collect())
    assert counted == {0: 250, 1: 250}


def what_functions_get(env: Env, folder: Path) -> None:
    (folder / "file").write_text("cached")
    env.register_cached_file(folder / "file", "it")
    parameters = Configuration()
    parameters.set_integer("limit", 2)

    class Named(RichMapFunction):
        def open(self, runtime_context: Any) -> None:
            self.names = dict(runtime_context.get_broadcast_variable("names"))
            self.cached = runtime_context.get_distributed_cache().get_file("it")

        def map(self, value: int) -> str:
            return f"{self.names[value]} {Path(self.cached).read_text()}"

    class AtMost(RichFilterFunction):
        def open(self, runtime_context: Any) -> None:
            self.limit = runtime_context.get_parameters().get_integer("limit", 0)

        def filter(self, value: int) -> bool:
            return value <= self.limit

    class Where(RichFlatMapFunction):
        def flat_map(self, value: int) -> Iterator[Any]:
            context = self.get_runtime_context()
            yield context.get_index_of_this_subtask(), context.get_number_of_parallel_subtasks()

    names = env.from_elements((1, "one"), (2, "two"))
    few = env.generate_sequence(1, 9).filter(AtMost()).with_parameters(parameters)
    shown = few.map(Named()).with_broadcast_set(names, "names")
    assert sorted(shown.collect()) == ["one cached", "two cached"]
    places = env.generate_sequence(1, 8).flat_map(Where()).set_parallelism(1)
    assert set(places.collect()) == {(0, 1)}


def accumulators(env: Env, folder: Path) -> None:
    class Counting(RichMapFunction):
        def open(self, runtime_context: Any) -> None:
            self.lines, self.sizes = IntCounter(), Histogram()
            self.total, self.seen = DoubleCounter(), ListAccumulator()
            for name, each in (
                ("lines", self.lines),
                ("sizes", self.sizes),
                ("total", self.total),
                ("seen", self.seen),
            ):
                runtime_context.add_accumulator(name, each)

        def map(self, value: str) -> str:
            self.lines.add(1)
            self.sizes.add(len(value))
            self.total.add(0.5)
            self.seen.add(value)
            return value

    env.from_elements("a", "bb", "cc").map(Counting()).output(DiscardingOutputFormat())
    result = env.execute("counting")
    assert result.get_accumulator_result("lines") == 3
    assert dict(result.get_accumulator_result("sizes")) == {1: 1, 2: 2}
    assert result.get_accumulator_result("total") == 1.5
    assert sorted(result.get_accumulator_result("seen")) == ["a", "bb", "cc"]
    assert result.get_net_runtime() >= 0
    last = env.get_last_job_execution_result()
    assert last is not None and set(last.get_all_accumulator_results()) == {
        "lines", "sizes", "total", "seen",
    }  # fmt: skip


def hints_that_change_nothing(env: Env, folder: Path) -> None:
    class Sum(RichGroupReduceFunction):
        def reduce(self, values: Iterable[Any]) -> Iterator[Any]:
            held = list(values)
            yield held[0][0], sum(v[1] for v in held)

    class Add(RichReduceFunction):
        def reduce(self, value1: Any, value2: Any) -> Any:
            return value1[0], value1[1] + value2[1]

    pairs = env.from_elements(("a", 1), ("a", 2)).map(lambda p: p).with_forwarded_fields("f0;f1")
    reduced = pairs.group_by(0).reduce_group(Sum()).set_combinable(True).returns(Types.TUPLE([]))
    assert reduced.collect() == [("a", 3)]
    combined = pairs.group_by(0).reduce(Add()).set_combine_hint(CombineHint.HASH).name("adding")
    assert combined.set_parallelism(1).collect() == [("a", 3)]
    joined = pairs.join(pairs).where(0).equal_to(0).with_(lambda a, b: a[1] * b[1])
    joined = joined.with_forwarded_fields_first("f0").with_forwarded_fields_second("f1")
    assert sorted(joined.collect()) == [1, 2, 2, 4]


def files_written(env: Env, folder: Path) -> None:
    sales = env.from_collection(SALES)
    sales.write_as_csv(folder / "csv", "\n", ";").set_parallelism(1)
    sales.write_as_text(folder / "text")
    upper = sales.map(lambda s: s[0])
    upper.write_as_formatted_text(folder / "formatted", str.upper).set_parallelism(1)
    upper.write_as_text(folder / "sorted").sort_local_output(0, Order.ASCENDING).set_parallelism(1)
    env.execute("files")
    assert (folder / "csv").read_text().splitlines()[0] == "a;3;1.5"
    assert sorted(path.name for path in (folder / "text").iterdir()) == ["1", "2"]
    assert (folder / "formatted").read_text().split() == ["A", "B", "A", "C", "B"]
    assert (folder / "sorted").read_text().split() == ["a", "a", "b", "b", "c"]
    env.from_elements((1, 2)).write_as_csv(folder / "csv", WriteMode.OVERWRITE).set_parallelism(1)
    env.execute()
    assert (folder / "csv").read_text() == "1,2\n"


def a_format_of_ones_own(env: Env, folder: Path) -> None:
    class Letters(OutputFormat):
        def set_output_file_path(self, path: str) -> None:
            self.path = path

        def set_write_mode(self, mode: WriteMode) -> None:
            self.mode = mode

        def open(self, task_number: int, num_tasks: int) -> None:
            assert self.mode is WriteMode.OVERWRITE
            self.file = open(f"{self.path}-{task_number}", "w")  # noqa: SIM115

        def write_record(self, record: str) -> None:
            self.file.write(record)

        def close(self) -> None:
            self.file.close()

    env.from_elements(*"abcd").write(Letters(), str(folder / "own"), WriteMode.OVERWRITE)
    env.execute()
    assert (folder / "own-0").read_text() + (folder / "own-1").read_text() == "abcd"


def plans(env: Env, folder: Path) -> None:
    words = env.from_elements("a", "b").map(lambda w: (w, 1)).name("pairs")
    words.group_by(0).sum(1).set_parallelism(3).output(DiscardingOutputFormat()).name("end")
    plan = json.loads(env.get_execution_plan())["nodes"]
    assert [(node["pact"], node["parallelism"]) for node in plan] == [
        ("Data Source", "2"), ("Map", "2"), ("Reduce", "3"), ("Data Sink", "2"),
    ]  # fmt: skip
    assert plan[1]["contents"] == "pairs"
    env.execute()


def rows_and_dicts(env: Env, folder: Path) -> None:
    rows = env.from_elements(Row(k="a", n=1), Row(k="a", n=2), Row(k="b", n=5))
    assert sorted(row.n for row in rows.group_by("k").sum("n").collect()) == [3, 5]
    dicts = env.from_elements({"k": "a", "n": 4}, {"k": "b", "n": 1})
    assert dicts.group_by("k").max_by("n").count() == 2
    joined = rows.join(dicts).where("k").equal_to("k").with_(lambda r, d: r.n * d["n"])
    assert sorted(joined.collect()) == [4, 5, 8]


PROGRAMS: list[Callable[[Env, Path], None]] = [
    texts,
    primitives,
    csv_of_types_and_of_a_class,
    json_lines_and_parquet,
    records_one_by_one,
    whole_data_sets,
    groups,
    sorted_groups,
    distinct,
    joins,
    co_groups_crosses_unions,
    partitions,
    numbering_and_sampling,
    what_functions_get,
    accumulators,
    hints_that_change_nothing,
    files_written,
    a_format_of_ones_own,
    plans,
    rows_and_dicts,
]
