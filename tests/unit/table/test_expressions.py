"""Expressions of the Table API mean what SQL's mean; texts of the older API are read as well."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from penstock.errors import FunctionError, ProgramError
from penstock.graph.relational.codegen.chunks import calc
from penstock.graph.relational.codegen.program import FixedContext
from penstock.graph.relational.expressions import Expr
from penstock.graph.relational.types import BIGINT, DOUBLE, INT, STRING, ArrayType, RowType
from penstock.table import DataTypes
from penstock.table.classic_expressions import parse_expressions
from penstock.table.expression import (
    Expression,
    JsonOnNull,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from penstock.table.expression_tree import with_named_functions
from penstock.table.expressions import (
    and_,
    array,
    call,
    call_sql,
    coalesce,
    col,
    concat,
    concat_ws,
    current_timestamp,
    if_then_else,
    json_array,
    json_object,
    lit,
    map_,
    not_,
    null_of,
    or_,
    pi,
    row,
    timestamp_diff,
    to_timestamp_ltz,
)
from penstock.table.sql.expression_binder import ExpressionBinder
from penstock.table.sql.scope import Relation, Scope
from penstock.table.udf import udf

TABLE = RowType.of(
    ("a", INT), ("b", BIGINT), ("s", STRING), ("d", DOUBLE), ("xs", ArrayType(INT)),
    ("r", RowType.of(("x", INT), ("y", STRING))),
)  # fmt: skip
ROW = (5, 7, "hello", 2.5, [1, 2, 3], (9, "deep"))


def bind(expression: Expression[Any]) -> Expr:
    functions: dict[str, Any] = {}

    def name_of(function: Any) -> str:
        functions[function.name] = function
        return str(function.name)

    tree = with_named_functions(expression.tree, name_of)
    return ExpressionBinder(Scope([Relation("t", TABLE, 0)]), functions.get).bind(tree)


def value(expression: Expression[Any]) -> Any:
    loaded = calc([bind(expression)], None, len(ROW)).load(FixedContext(now=1_700_000_000_000))
    return loaded["calc"]([ROW])[0][0]


NOON = datetime.datetime(2020, 5, 17, 12, 44, 31)
twice = udf(lambda x: x * 2, result_type=DataTypes.BIGINT(), name="twice")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (col("a") + 1, 6),
        (10 - col("a"), 5),
        (col("a") * 2 / 3, 3),
        (col("a") % 3, 2),
        (2 ** col("a"), 32.0),
        (-col("a"), -5),
        (abs(-col("a")), 5),
        ((col("a") > 4) & (col("s") == "hello"), True),
        ((col("a") > 5) | ~(col("s") != "hello"), True),
        (col("s") + "!", "hello!"),
        (col("s").upper_case, "HELLO"),
        (col("s").substring(2, 3), "ell"),
        (col("s").like("h%"), True),
        (col("s").trim_leading("h"), "ello"),
        (lit("  x ").trim(), "x"),
        (col("s").position(lit("say hello")), 5),
        (col("s").regexp_extract("(l+)", 1), "ll"),
        (col("s").char_length, 5),
        (col("a").between(1, 5), True),
        (col("a").not_between(1, 5), False),
        (col("a").in_(1, 5), True),
        (col("a").is_null, False),
        (col("a").is_not_null, True),
        ((col("a") > 5).is_false, True),
        ((col("a") > 1).then("yes", "no"), "yes"),
        (if_then_else(col("a") > 9, 1, 2), 2),
        (col("a").cast(DataTypes.STRING()), "5"),
        (col("s").try_cast(DataTypes.INT()), None),
        (null_of(DataTypes.INT()).if_null(3), 3),
        (coalesce(null_of(DataTypes.STRING()), col("s")), "hello"),
        (col("d").round(0), 3.0),
        (col("d").floor(), 2.0),
        (col("d").log(10), pytest.approx(0.39794)),
        (pi(), pytest.approx(3.14159265)),
        (col("xs").at(2), 2),
        (col("xs")[1], 1),
        (col("xs").cardinality, 3),
        (col("xs").array_contains(3), True),
        (col("r").get("y"), "deep"),
        (col("r").get(0), 9),
        (col("r.y"), "deep"),
        (array(1, 2).array_append(3), [1, 2, 3]),
        (map_("k", 1).at("k"), 1),
        (row(1, "x"), (1, "x")),
        (lit([1, 2]), [1, 2]),
        (lit(Decimal("1.50")), Decimal("1.50")),
        (lit(1, DataTypes.BIGINT()), 1),
        (lit(NOON).extract(TimeIntervalUnit.DAY), 17),
        (lit(NOON).floor(TimeIntervalUnit.HOUR), NOON.replace(minute=0, second=0)),
        (lit(NOON) + lit(2).hours, NOON + datetime.timedelta(hours=2)),
        (lit(NOON) + lit(1).month, NOON.replace(month=6)),
        (lit(NOON) - col("a").days, NOON - datetime.timedelta(days=5)),
        (timestamp_diff(TimePointUnit.DAY, lit(NOON), lit(NOON) + lit(3).days), 3),
        (lit("2020-01-02").to_date, datetime.date(2020, 1, 2)),
        (to_timestamp_ltz(0, 3), datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)),
        (current_timestamp() > to_timestamp_ltz(0, 3), True),
        (concat("a", col("s")), "ahello"),
        (concat_ws("-", "a", null_of(DataTypes.STRING()), "b"), "a-b"),
        (and_(col("a") > 1, col("b") > 1, col("d") > 9), False),
        (or_(col("a") > 9, col("b") > 9, col("d") > 2), True),
        (not_(col("a") > 9), True),
        (call("ABS", -3), 3),
        (call(twice, col("a")), 10),
        (twice(col("a")) + 1, 11),
        (call_sql("a * 2 + 1"), 11),
        (lit('{"a": [1, 2]}').json_value("$.a[1]", DataTypes.INT()), 2),
        (
            lit("{}").json_value("lax $.a", DataTypes.INT(), JsonValueOnEmptyOrError.DEFAULT, 7),
            7,
        ),
        (lit("[1]").json_query("$", JsonQueryWrapper.UNCONDITIONAL_ARRAY), "[[1]]"),
        (lit("[1]").is_json(JsonType.ARRAY), True),
        (lit("{}").json_exists("$.a"), False),
        (json_object(JsonOnNull.NULL, "k", col("a")), '{"k":5}'),
        (json_array(JsonOnNull.ABSENT, 1, null_of(DataTypes.INT())), "[1]"),
        (col("s").md5, "5d41402abc4b2a76b9719d911017c592"),
        (lit(2).elt("x", "y"), "y"),
    ],
    ids=str,
)
def test_an_expression_has_the_value_that_sql_gives(
    expression: Expression[Any], expected: Any
) -> None:
    assert value(expression) == expected


def test_an_expression_shows_what_it_is() -> None:
    assert str((col("a") + 1).alias("n")) == "(a + 1) AS n"
    assert str(col("a").sum.distinct) == "SUM(distinct(a))"
    assert str(col("w").start) == "start(w)"
    assert str(twice(col("a"))) == "twice(a)"
    assert repr(col("a").desc) == "Expression(ordered(a))"


def test_an_expression_is_not_true_or_false() -> None:
    with pytest.raises(ValueError, match=r"combine conditions with & \| ~"):
        bool(col("a") > 1)


def test_a_part_can_be_used_twice() -> None:
    part = col("a") + 1
    assert value(part * part) == 36
    assert value(part) == 6


def test_types_of_literals() -> None:
    assert str(bind(lit(1)).type) == "INT NOT NULL"
    assert str(bind(lit(2**40)).type) == "BIGINT NOT NULL"
    assert str(bind(lit(1.5)).type) == "DOUBLE NOT NULL"
    assert str(bind(lit("ab")).type) == "CHAR(2) NOT NULL"
    assert str(bind(lit(Decimal("1.50"))).type) == "DECIMAL(3, 2) NOT NULL"
    with pytest.raises(ProgramError) as caught:
        lit(object)
    assert str(caught.value).startswith("a type is no literal")


def test_wrong_arguments_are_told_with_the_forms_that_work() -> None:
    with pytest.raises(FunctionError) as caught:
        bind(col("xs").upper_case)
    assert str(caught.value) == (
        "UPPER does not take these arguments\n"
        "  got:   UPPER(ARRAY<INT>)\n"
        "  to do: call it as UPPER(STRING)"
    )
    with pytest.raises(FunctionError) as caught:
        bind(call("UPER", col("s")))
    assert str(caught.value) == "there is no function UPER\n  to do: did you mean UPPER or POWER?"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a, b", ["a", "b"]),
        ("'a, 'b as 'c", ["a", "b AS c"]),
        ("'amount.sum as 'total", ["SUM(amount) AS total"]),
        ("ts.rowtime", ["rowtime(ts)"]),
        ("pt.proctime, w.start, w.end", ["proctime(pt)", "start(w)", "end(w)"]),
        ("ch = 'appstore'", ["(ch = 'appstore')"]),
        ("'ch === 'other && 'n > 1", ["((ch = other) AND (n > 1))"]),
        ("10.seconds", ["INTERVAL '0:00:10'"]),
        ("word, 1.count as n", ["word", "COUNT(1) AS n"]),
        ("f('x, 'y) as z", ["f(x, y) AS z"]),
        ("a.charLength", ["CHAR_LENGTH(a)"]),
        ("a.substring(1, 2)", ["SUBSTRING(a, 1, 2)"]),
        ("id, COUNT(id) AS n", ["id", "COUNT(id) AS n"]),
    ],
)
def test_texts_of_the_older_api_are_expressions(text: str, shown: list[str]) -> None:
    assert [str(expression) for expression in parse_expressions(text)] == shown


def test_a_method_that_is_not_there_is_told() -> None:
    with pytest.raises(ProgramError) as caught:
        parse_expressions("a.uper()")
    assert str(caught.value) == (
        "an expression has no method uper\n"
        "  got:   a.uper()\n"
        "  to do: use a method of penstock.table.Expression"
    )
