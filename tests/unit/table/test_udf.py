"""Functions of the user in SQL: declared, called, refused, and failing."""

from __future__ import annotations

import asyncio
import pickle
from decimal import Decimal
from typing import Any

import pytest

from penstock.common import Row
from penstock.core.functions.data_view import ListView, MapView
from penstock.errors import EvaluationError, FunctionError, ProgramError, UserFunctionError
from penstock.graph.relational.codegen.chunks import calc
from penstock.graph.relational.expressions import InputRef, UdfCall
from penstock.graph.relational.types import BIGINT
from penstock.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    FunctionContext,
    ScalarFunction,
    TableEnvironment,
    TableFunction,
)
from penstock.table.udf import udaf, udf, udtaf, udtf

ROWS = [(1, "a b", 2.5), (2, "c", 1.5), (1, "d e f", 3.0)]


@pytest.fixture
def env() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made.get_config().set("parallelism.default", "1").set("execution.target", "in-process")
    made.create_temporary_view("t", made.from_elements(ROWS, ["id", "words", "w"]))
    return made


def rows(env: TableEnvironment, sql: str) -> list[Any]:
    with env.execute_sql(sql).collect() as found:
        return sorted(tuple(row) for row in found)


class Scaled(ScalarFunction):
    def open(self, function_context: FunctionContext) -> None:
        self.factor = 10

    def eval(self, x: int) -> int:
        return x * self.factor


class Words(TableFunction):
    def eval(self, text: str) -> Any:
        for word in text.split():
            yield Row(word, len(word))


class WeightedAverage(AggregateFunction):
    def create_accumulator(self) -> Any:
        return [0, 0]

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        value, weight = args
        accumulator[0] += value * weight
        accumulator[1] += weight

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def get_result_type(self) -> Any:
        return DataTypes.DOUBLE()


def test_a_decorated_function_is_called_for_each_row(env: TableEnvironment) -> None:
    @udf(result_type=DataTypes.BIGINT())
    def plus_one(x: int) -> int:
        return x + 1

    env.create_temporary_function("plus_one", plus_one)
    assert rows(env, "SELECT plus_one(id) FROM t") == [(2,), (2,), (3,)]


def test_a_class_is_opened_before_its_first_call(env: TableEnvironment) -> None:
    env.create_temporary_system_function("scaled", udf(Scaled(), result_type="BIGINT"))
    assert rows(env, "SELECT scaled(id) FROM t WHERE scaled(id) > 10") == [(20,)]


def test_a_pandas_function_is_called_with_series(env: TableEnvironment) -> None:
    def add(x: Any, y: Any) -> Any:
        assert type(x).__name__ == "Series"
        return x + y

    env.create_temporary_function("add2", udf(add, result_type="DOUBLE", func_type="pandas"))
    sql = "SELECT add2(id, w) * 2, words FROM t WHERE add2(id, w) > 3.4"
    assert rows(env, sql) == [(7.0, "a b"), (7.0, "c"), (8.0, "d e f")]


def test_calls_of_a_coroutine_wait_together(env: TableEnvironment) -> None:
    waiting, most = 0, 0

    async def slow(x: int) -> int:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await asyncio.sleep(0.01)
        waiting -= 1
        return x * 10

    function = udf(slow, result_type="BIGINT").function
    call = UdfCall(function, (InputRef(0, BIGINT),), BIGINT)
    loaded = calc([call], None, 1).load()
    assert loaded["calc"]([(1,), (2,), (3,)]) == [(10,), (20,), (30,)]
    assert most == 3


def test_rows_go_in_and_out_as_rows(env: TableEnvironment) -> None:
    pair = DataTypes.ROW([DataTypes.FIELD("n", DataTypes.BIGINT()),
                          DataTypes.FIELD("s", DataTypes.STRING())])  # fmt: skip
    env.create_temporary_function("pair", udf(lambda n, s: Row(n, s.upper()), result_type=pair))
    env.create_temporary_function("first_of", udf(lambda row: row.n, result_type="BIGINT"))
    sql = "SELECT pair(id, words).s, first_of(pair(id, words)) FROM t WHERE id = 2"
    assert rows(env, sql) == [("C", 2)]


def test_results_take_the_form_of_the_declared_type(env: TableEnvironment) -> None:
    env.create_temporary_function("money", udf(lambda x: x / 3, result_type="DECIMAL(10, 2)"))
    env.create_temporary_function("narrow", udf(lambda x: 0.1, result_type="FLOAT"))
    env.create_temporary_function("is_two", udf(lambda x: x // 2, result_type="BOOLEAN"))
    sql = "SELECT money(w), narrow(id) = CAST(0.1 AS FLOAT), NOT is_two(id) FROM t WHERE id = 2"
    assert rows(env, sql) == [(Decimal("0.50"), True, False)]


def test_a_table_function_is_joined(env: TableEnvironment) -> None:
    env.create_temporary_function("split", udtf(Words(), result_types=["STRING", "INT"]))
    sql = "SELECT id, word, n FROM t, LATERAL TABLE(split(words)) AS s(word, n) WHERE id = 1"
    assert rows(env, sql) == [(1, w, 1) for w in "abdef"]


def test_an_aggregate_function_has_its_own_accumulator(env: TableEnvironment) -> None:
    env.create_temporary_function("wavg", udaf(WeightedAverage()))
    assert rows(env, "SELECT id, wavg(w, id) FROM t GROUP BY id") == [(1, 2.75), (2, 1.5)]


def test_a_pandas_aggregate_is_called_with_the_columns_of_a_group(env: TableEnvironment) -> None:
    mean = udaf(lambda v: v.mean(), result_type="DOUBLE", func_type="pandas", name="mean")
    env.create_temporary_function("mean", mean)
    assert rows(env, "SELECT id, mean(w) FROM t GROUP BY id") == [(1, 2.75), (2, 1.5)]


def test_a_function_that_raises_shows_row_and_line(env: TableEnvironment) -> None:
    def inverse(x: int) -> float:
        return 1 / (x - 2)

    env.create_temporary_function("inverse", udf(inverse, result_type="DOUBLE"))
    with pytest.raises(UserFunctionError) as caught:
        rows(env, "SELECT inverse(id) FROM t")
    text = str(caught.value)
    assert "inverse() of operator" in text
    assert "raised ZeroDivisionError: division by zero" in text
    assert "record (2, 'c', 1.5)" in text
    assert "return 1 / (x - 2)" in text
    assert "<generated" not in text


def test_an_expression_that_fails_shows_its_row(env: TableEnvironment) -> None:
    with pytest.raises(EvaluationError) as caught:
        rows(env, "SELECT 1 / (id - 2) FROM t")
    text = str(caught.value)
    assert text.startswith("Division by zero\n  where: operator ")
    assert text.endswith(
        "  got:   row (2, 'c', 1.5)\n"
        "  to do: test the divisor, for instance with NULLIF(divisor, 0)"
    )
    with pytest.raises(EvaluationError) as caught:
        rows(env, "SELECT TIMESTAMPADD(YEAR, CAST(id * 4500 AS INT), DATE '2020-01-01') FROM t")
    assert caught.value.what == (
        "an expression of the query failed: ValueError: year 11020 is out of range"
    )
    assert caught.value.got == "row (2, 'c', 1.5)"


def test_wrong_arguments_are_told_when_the_query_is_made(env: TableEnvironment) -> None:
    env.create_temporary_function("wavg", udaf(WeightedAverage()))
    env.create_temporary_function("scaled", udf(Scaled(), "BIGINT", "BIGINT"))
    env.create_temporary_function("both", udf(lambda a, b: a, result_type="BIGINT"))
    with pytest.raises(FunctionError) as caught:
        env.execute_sql("SELECT both(id) FROM t")
    assert str(caught.value) == (
        "both does not take these arguments: missing a required argument: 'b'\n"
        "  where: line 1, column 8\n"
        "         SELECT both(id) FROM t\n"
        "                ^^^^\n"
        "  got:   both(BIGINT)\n"
        "  to do: call it as both(a, b)"
    )
    with pytest.raises(FunctionError) as caught:
        env.execute_sql("SELECT scaled(words) FROM t")
    assert str(caught.value) == (
        "scaled does not take these arguments\n"
        "  where: line 1, column 8\n"
        "         SELECT scaled(words) FROM t\n"
        "                ^^^^^^\n"
        "  got:   scaled(STRING)\n"
        "  to do: call it as scaled(BIGINT)"
    )
    env.create_temporary_function("split", udtf(Words(), result_types=["STRING", "INT"]))
    with pytest.raises(FunctionError) as caught:
        env.execute_sql("SELECT split(words) FROM t")
    assert str(caught.value) == (
        "split is no scalar function\n"
        "  where: line 1, column 8\n"
        "         SELECT split(words) FROM t\n"
        "                ^^^^^\n"
        "  got:   a function of kind table\n"
        "  to do: write LATERAL TABLE(split(...)), or use join_lateral or flat_map"
    )


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: udf(lambda x: x), "udf needs the type of the result"),
        (lambda: udf(5, result_type="INT"), "udf takes a function, or an instance of"),
        (lambda: udf(Words(), result_type="INT"), "udf takes a ScalarFunction or a function"),
        (lambda: udf(abs, result_type=5), "a data type is expected"),
        (lambda: udf(abs, result_type="INT", func_type="arrow"), "udf: func_type is general or"),
        (lambda: udaf(abs, result_type="INT"), "udaf takes an instance of AggregateFunction"),
        (lambda: udtaf(abs, result_type="INT"), "udtaf takes an instance of TableAggregate"),
        (
            lambda: udf(Scaled(), result_type="INT", deterministic=False),
            "Inconsistent deterministic",
        ),
    ],
)
def test_a_declaration_that_cannot_work_is_refused(make: Any, what: str) -> None:
    with pytest.raises(ProgramError) as caught:
        make()
    assert str(caught.value).startswith(what)


def test_a_declaration_keeps_what_it_was_given() -> None:
    function = udf(lambda i: i, ["INT"], "BIGINT", deterministic=False, name="f").function
    assert (function.name, function.kind, function.deterministic) == ("f", "scalar", False)
    assert [str(t) for t in function.input_types or ()] == ["INT"]
    renamed = udtf(Words(), result_types=["STRING", "INT"]).alias("word", "n").function
    assert str(renamed.result_type) == "ROW<`word` STRING, `n` INT>"


def test_views_in_accumulators_are_plain_collections() -> None:
    numbers: ListView[int] = ListView()
    numbers.add_all([1, 2])
    numbers.add(3)
    assert list(pickle.loads(pickle.dumps(numbers)).get()) == [1, 2, 3]
    counts: MapView[str, int] = MapView()
    counts.put("a", 1)
    counts["b"] = 2
    counts.remove("a")
    assert (counts.contains("a"), counts["b"], list(counts), counts.is_empty()) == (
        False, 2, ["b"], False,
    )  # fmt: skip
