"""The Table API in Python: each call gives what its SQL gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.common import Row, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import UserFunctionError, ValidationError
from penstock.table import (
    AggregateFunction,
    DataTypes,
    Schema,
    StreamTableEnvironment,
    Table,
    TableAggregateFunction,
)
from penstock.table.expressions import UNBOUNDED_RANGE, col, lit
from penstock.table.udf import udaf, udf, udtaf, udtf
from penstock.table.window import Over, Session, Slide, Tumble


@pytest.fixture
def t_env() -> StreamTableEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env._configuration.set_string("execution.target", "in-process")
    return StreamTableEnvironment.create(env)


@pytest.fixture
def fruit(t_env: StreamTableEnvironment) -> Table:
    rows = [(1, "a", 1.5), (2, "b", 2.5), (3, "a", 3.0)]
    return t_env.from_elements(rows, ["id", "name", "x"])


@pytest.fixture
def timed(t_env: StreamTableEnvironment) -> Table:
    stream = t_env._env.from_collection(
        [("a", 1000, 1), ("b", 2000, 2), ("a", 12000, 3), ("a", 13000, 4), ("b", 25000, 5)]
    ).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, _: v[1])
    )
    return t_env.from_data_stream(stream, col("k"), col("x"), col("v"), col("ts").rowtime)


def changes(table: Table) -> list[str]:
    rows = table.execute().collect()
    return [f"{row.get_row_kind()}{tuple(row)}" for row in rows]


def test_columns_are_computed_and_filtered(fruit: Table) -> None:
    table = fruit.select(col("id") + 1, col("name").upper_case.alias("n")).where(col("n") == "A")
    assert changes(table) == ["+I(2, 'A')", "+I(4, 'A')"]


def test_the_classic_texts_mean_the_same(fruit: Table) -> None:
    assert changes(fruit.where("name = 'a'").select("id, name as n")) == [
        "+I(1, 'a')",
        "+I(3, 'a')",
    ]


def test_groups_are_aggregated(fruit: Table) -> None:
    table = fruit.group_by(col("name")).select(col("name"), col("id").sum.alias("s"))
    assert changes(table) == ["+I('a', 1)", "+I('b', 2)", "-U('a', 1)", "+U('a', 4)"]


def test_columns_are_added_dropped_and_renamed(fruit: Table) -> None:
    table = fruit.add_columns((col("id") * 2).alias("d")).drop_columns(col("x"))
    table = table.rename_columns(col("id").alias("key"))
    assert table.get_schema().get_field_names() == ["key", "name", "d"]
    replaced = table.add_or_replace_columns(lit("z").alias("name"))
    assert changes(replaced.limit(1)) == ["+I(1, 'z', 2)"]
    assert table.alias("a", "b").get_schema().get_field_names() == ["a", "b", "d"]


def test_tables_are_joined_and_united(t_env: StreamTableEnvironment, fruit: Table) -> None:
    other = t_env.from_elements([("a", 10), ("z", 20)], ["k", "v"])
    joined = fruit.join(other, col("name") == col("k")).select(col("id"), col("v"))
    assert sorted(changes(joined)) == ["+I(1, 10)", "+I(3, 10)"]
    left = fruit.left_outer_join(other, col("name") == col("k")).select(col("id"), col("v"))
    assert changes(left)[:3] == ["+I(1, None)", "+I(2, None)", "+I(3, None)"]
    names = fruit.select(col("name"))
    assert sorted(changes(names.union(other.select(col("k"))))) == [
        "+I('a',)",
        "+I('b',)",
        "+I('z',)",
    ]
    assert changes(names.minus(other.select(col("k"))))[-1:] != []


def test_joined_tables_have_different_names(fruit: Table) -> None:
    with pytest.raises(ValidationError) as failure:
        fruit.join(fruit)
    assert str(failure.value) == (
        "joined tables must have different column names\n"
        "  got:   both have id, name, x\n"
        "  to do: rename columns with alias(...) or rename_columns(...) first"
    )


def test_order_and_limit(fruit: Table) -> None:
    assert changes(fruit.order_by(col("id").desc).fetch(1))[-1] == "+I(3, 'a', 3.0)"
    assert changes(fruit.limit(1, 1)) == ["+I(2, 'b', 2.5)"]
    assert len(changes(fruit.select(col("name")).distinct())) == 2


@pytest.mark.parametrize(
    ("window", "sums"),
    [
        (Tumble.over(lit(10).seconds), [1, 2, 7, 5]),
        (Slide.over(lit(20).seconds).every(lit(10).seconds), [1, 2, 8, 2, 5, 7, 5]),
        (Session.with_gap(lit(5).seconds), [1, 2, 7, 5]),
    ],
)
def test_windows(timed: Table, window: object, sums: list[int]) -> None:
    named = window.on(col("ts")).alias("w")  # type: ignore[attr-defined]
    table = timed.window(named).group_by(col("w"), col("k")).select(col("v").sum)
    assert changes(table) == [f"+I({s},)" for s in sums]


def test_a_window_has_bounds(timed: Table) -> None:
    window = Tumble.over("10.seconds").on("ts").alias("tt")
    table = timed.window(window).group_by("k, tt").select("k, tt.start, tt.end, v.sum as s")
    first = next(iter(table.execute().collect()))
    assert [str(value) for value in first] == [
        "a", "1970-01-01 00:00:00", "1970-01-01 00:00:10", "1",
    ]  # fmt: skip


def test_over_windows(timed: Table) -> None:
    window = Over.partition_by(col("k")).order_by(col("ts")).preceding(UNBOUNDED_RANGE).alias("o")
    table = timed.over_window(window).select(col("k"), col("v").sum.over(col("o")))
    assert changes(table) == ["+I('a', 1)", "+I('b', 2)", "+I('a', 4)", "+I('a', 8)", "+I('b', 7)"]


def test_functions_of_the_user(t_env: StreamTableEnvironment, fruit: Table) -> None:
    plus = udf(lambda a, b: a + b, result_type=DataTypes.BIGINT())
    assert changes(fruit.select(plus(col("id"), lit(10)))) == ["+I(11,)", "+I(12,)", "+I(13,)"]
    t_env.create_temporary_function("plus", plus)
    assert changes(t_env.sql_query(f"SELECT plus(id, 5) FROM {fruit}"))[0] == "+I(6,)"
    split = udtf(lambda s: [(s, 0), (s, 1)], result_types=[DataTypes.STRING(), DataTypes.INT()])
    joined = fruit.join_lateral(split(col("name")).alias("c", "i")).select(col("id"), col("i"))
    assert changes(joined)[:3] == ["+I(1, 0)", "+I(1, 1)", "+I(2, 0)"]
    t_env.create_temporary_function("split", split)
    query = f"SELECT id, i FROM {fruit}, LATERAL TABLE(split(name)) AS t (c, i)"
    assert changes(t_env.sql_query(query)) == changes(joined)
    row_type = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.BIGINT())])
    mapped = fruit.map(udf(lambda row: Row(row.id * 10), result_type=row_type))
    assert changes(mapped) == ["+I(10,)", "+I(20,)", "+I(30,)"]


class Total(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], value: int) -> None:
        accumulator[0] += value

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]


def test_an_aggregate_of_the_user(fruit: Table) -> None:
    total = udaf(
        Total(),
        result_type=DataTypes.BIGINT(),
        accumulator_type=DataTypes.ARRAY(DataTypes.BIGINT()),
    )
    table = fruit.group_by(col("name")).select(col("name"), total(col("id")).alias("t"))
    assert changes(table) == ["+I('a', 1)", "+I('b', 2)", "-U('a', 1)", "+U('a', 4)"]


def test_a_function_that_raises_is_shown_with_its_row(fruit: Table) -> None:
    bad = udf(lambda a: 1 // (a - 2), result_type=DataTypes.BIGINT())
    with pytest.raises(UserFunctionError) as failure:
        changes(fruit.select(bad(col("id"))))
    assert "ZeroDivisionError" in str(failure.value)
    assert "record (2, 'b', 2.5)" in str(failure.value)


def test_a_table_becomes_a_stream_and_back(
    t_env: StreamTableEnvironment, fruit: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = fruit.group_by(col("name")).select(col("name"), col("id").count.alias("c"))
    t_env.to_changelog_stream(counted).print()
    t_env.to_retract_stream(counted).print()
    t_env._env.execute()
    lines = capsys.readouterr().out.splitlines()
    # Order is promised within a sink, not between two of them.
    retracted = [line for line in lines if line.startswith("(")]
    assert [line for line in lines if line not in retracted] == [
        "+I[a, 1]", "+I[b, 1]", "-U[a, 1]", "+U[a, 2]",
    ]  # fmt: skip
    assert retracted[0] == "(true,+I[a, 1])"
    with pytest.raises(ValidationError) as failure:
        t_env.to_data_stream(counted)
    assert str(failure.value) == (
        "to_data_stream() takes tables that are only added to, and this one has changes "
        "[I,UB,UA]\n"
        "  got:   columns name, c\n"
        "  to do: use to_changelog_stream() or to_retract_stream()"
    )


def test_a_changelog_stream_becomes_a_table(t_env: StreamTableEnvironment) -> None:
    from_kinds = ["+I", "-U", "+U"]
    rows = [Row("a", 1), Row("a", 1), Row("a", 5)]
    for row, kind in zip(rows, from_kinds, strict=True):
        row.set_row_kind(next(k for k in type(row.get_row_kind()) if str(k) == kind))
    schema = Schema.new_builder().column("f0", "STRING").column("f1", "INT").build()
    table = t_env.from_changelog_stream(t_env._env.from_collection(rows), schema)
    assert changes(table.select(col("f1").sum)) == ["+I(1,)", "-D(1,)", "+I(5,)"]


def test_pandas(fruit: Table) -> None:
    frame = fruit.to_pandas()
    assert list(frame["id"]) == [1, 2, 3]
    assert list(frame.columns) == ["id", "name", "x"]


def test_a_table_from_pandas(t_env: StreamTableEnvironment, fruit: Table) -> None:
    again = t_env.from_pandas(fruit.to_pandas())
    assert changes(again) == changes(fruit)
    assert [(m.name(), m.used()) for m in t_env.list_full_modules()] == [("core", True)]


class TopTwo(TableAggregateFunction):
    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], value: int) -> None:
        accumulator.append(value)
        accumulator.sort(reverse=True)
        del accumulator[2:]

    def emit_value(self, accumulator: list[int]) -> Iterator[Row]:
        for number, value in enumerate(accumulator, start=1):
            yield Row(value, number)


def test_flat_aggregate_gives_many_rows_a_group(fruit: Table) -> None:
    top = udtaf(
        TopTwo(),
        result_type="ROW<v BIGINT, n INT>",
        accumulator_type=DataTypes.ARRAY(DataTypes.BIGINT()),
    )
    table = (
        fruit.group_by(col("name"))
        .flat_aggregate(top(col("id")).alias("v", "n"))
        .select(col("name"), col("v"), col("n"))
    )
    assert changes(table) == [
        "+I('a', 1, 1)", "+I('b', 2, 1)", "-D('a', 1, 1)", "+I('a', 3, 1)", "+I('a', 1, 2)",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "FULL JOIN"])
def test_rows_that_hold_arrays_are_joined(t_env: StreamTableEnvironment, kind: str) -> None:
    t_env.create_temporary_view("l", t_env.from_elements([(1, [1, 2]), (2, [3])], ["a", "x"]))
    t_env.create_temporary_view(
        "r", t_env.from_elements([(1, {"k": 1}), (1, {"k": 1})], ["b", "y"])
    )
    rows = changes(t_env.sql_query(f"SELECT a, x, y FROM l {kind} r ON a = b"))
    added = [row for row in rows if row.startswith("+I(1") and "None" not in row]
    assert added == ["+I(1, [1, 2], {'k': 1})"] * 2
