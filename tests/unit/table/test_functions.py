"""Built-in functions give the types and values that Flink gave; every documented one is there."""

from __future__ import annotations

import contextlib
import datetime
import json
import struct
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlglot import exp

from penstock.errors import EvaluationError, ValidationError
from penstock.graph.relational.codegen.aggregates import aggregate_program
from penstock.graph.relational.codegen.chunks import Session, calc
from penstock.graph.relational.codegen.program import FixedContext
from penstock.graph.relational.expressions import (
    AggregateCall,
    Expr,
    InputRef,
    Literal,
    cast,
    symbol,
)
from penstock.graph.relational.functions import catalog
from penstock.graph.relational.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    SYMBOL,
    TINYINT,
    DecimalType,
    RowType,
    TimestampType,
)
from penstock.table.sql.dialect import JsonCall
from penstock.table.sql.expression_binder import ExpressionBinder
from penstock.table.sql.parser import parse_expression
from penstock.table.sql.scope import Relation, Scope

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = Path(__file__).parents[2] / "cases" / "functions"
NOW = 1_700_000_000_000
# Forms that the parser and the planner know themselves.
FORMS = {
    "EXISTS", "IN (subquery)", "NOT IN (subquery)", "INTERVAL", "CASE", "CAST", "TRY_CAST", "GET",
    "FLATTEN", "GROUP_ID", "GROUPING", "GROUPING_ID", "CALL_SQL", "AS",
}  # fmt: skip


class Case(NamedTuple):
    text: str
    type: str
    value: str


def cases(name: str) -> Iterator[Any]:
    for line in (CASES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("# "):
            text, kind, value = line.split(" => ")
            yield pytest.param(Case(text, kind, value), id=text)


SCALAR_FILES = [
    path.stem
    for path in sorted(CASES.glob("*.txt"))
    if path.stem not in ("aggregate", "documented", "zone")
]


def bind(text: str) -> Expr:
    return ExpressionBinder(Scope([]), lambda name: None).bind(parse_expression(text))


def shown(expr: Expr, row: tuple[Any, ...], zone: str = "UTC") -> str | None:
    program = calc([cast(expr, STRING)], None, len(row), session=Session(zone=zone))
    return program.load(FixedContext(now=NOW))["calc"]([row])[0][0]


def recorded(value: str | None) -> str:
    return "NULL" if value is None else json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("case", [c for name in SCALAR_FILES for c in cases(name)])
def test_a_function_has_the_type_and_value_that_flink_gave(case: Case) -> None:
    expr = bind(case.text)
    assert expr.type.as_summary_string() == case.type
    if case.value == "error":
        with pytest.raises(EvaluationError):
            shown(expr, (None,))
    else:
        assert recorded(shown(expr, (None,))) == case.value


@pytest.mark.parametrize("case", list(cases("zone")))
def test_a_session_in_another_zone_shows_its_times(case: Case) -> None:
    expr = bind(case.text)
    assert expr.type.as_summary_string() == case.type
    assert recorded(shown(expr, (None,), "Asia/Shanghai")) == case.value


def with_columns(expr: Expr) -> tuple[Expr, list[Any]]:
    """Return the expression over nullable columns instead of constants, and their values."""
    values: list[Any] = []

    def change(node: Expr) -> Expr | None:
        if not isinstance(node, Literal) or node.type == SYMBOL:
            return None
        values.append(node.value)
        return InputRef(len(values) - 1, node.type.nullable())

    return expr.transform(change), values


@pytest.mark.parametrize(
    "case", [c for name in SCALAR_FILES if name != "errors" for c in cases(name)]
)
def test_columns_that_may_be_null_give_the_same_and_bear_null(case: Case) -> None:
    expr, values = with_columns(bind(case.text))
    if not case.text.startswith("TYPEOF"):
        assert recorded(shown(expr, (*values, None))) == case.value
    for position in range(len(values)):
        row = [None if i == position else v for i, v in enumerate(values)]
        # Without one argument another may be wrong; anything else is a slip of ours.
        with contextlib.suppress(EvaluationError):
            shown(expr, (*row, None))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("CAST(ARRAY[1] AS INT)", "there is no CAST from ARRAY<INT NOT NULL> to INT"),
        ("CAST(5 AS DATE)", "there is no CAST from INT to DATE"),
        ("CAST(5 AS TIMESTAMP(3))", "there is no CAST from INT to TIMESTAMP(3)"),
        ("CAST(DATE '2020-01-01' AS INT)", "there is no CAST from DATE to INT"),
        ("CAST(TRUE AS DATE)", "there is no CAST from BOOLEAN to DATE"),
        ("TRY_CAST(MAP['a', 1] AS ARRAY<INT>)", "there is no CAST from MAP<CHAR(1) NOT NULL, INT"),
    ],
)
def test_a_cast_that_has_no_meaning_is_told_when_the_query_is_made(text: str, what: str) -> None:
    with pytest.raises(ValidationError) as caught:
        bind(text)
    assert caught.value.what.startswith(what)


# --- aggregates -----------------------------------------------------------------------------------


def float32(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]


TABLE = RowType.of(
    ("i", INT), ("b", BIGINT), ("d", DOUBLE), ("f", FLOAT), ("m", DecimalType(10, 2)),
    ("s", STRING), ("n", INT), ("o", BOOLEAN), ("t", TimestampType(0)), ("tiny", TINYINT),
)  # fmt: skip
DAY = datetime.datetime
ROWS = [
    (1, 10, 1.5, float32(0.1), Decimal("1.25"), "a", None, True, DAY(2020, 1, 1), 100),
    (2, 20, 2.5, float32(0.2), Decimal("2.50"), "bc", None, False, DAY(2020, 1, 3), 100),
    (None, 30, 4.0, float32(0.3), Decimal("10.00"), None, None, True, DAY(2020, 1, 2), 27),
    (2, 40, 0.5, float32(0.4), Decimal("0.01"), "a", None, False, DAY(2019, 1, 1), 1),
]


def bind_aggregate(text: str) -> tuple[Expr, list[AggregateCall]]:
    """Return an expression over the results of aggregates, and the aggregates."""
    calls: list[AggregateCall] = []

    def special(tree: Any, binder: ExpressionBinder) -> Expr | None:
        node, kept = tree, None
        if isinstance(tree, exp.Filter):
            node, kept = tree.this, binder.bind(tree.expression.this)
        is_call = isinstance(node, exp.Anonymous | JsonCall)
        if not is_call or not catalog.is_aggregate(str(node.this)):
            return None
        args = node.expressions
        distinct = bool(args) and isinstance(args[0], exp.Distinct)
        args = args[0].expressions if distinct else args
        bound = [binder.bind(arg) for arg in args if not isinstance(arg, exp.Star)]
        if isinstance(node, JsonCall):
            bound.append(symbol(" ".join(node.args.get("clauses") or [])))
        calls.append(catalog.resolve_aggregate(str(node.this), bound, distinct, kept))
        return InputRef(len(calls) - 1, calls[-1].type)

    scope = Scope([Relation("t", TABLE, 0)])
    return ExpressionBinder(scope, lambda name: None, special).bind(parse_expression(text)), calls


@pytest.mark.parametrize("way", ["plain", "merged", "taken back"])
@pytest.mark.parametrize("case", list(cases("aggregate")))
def test_an_aggregate_has_the_type_and_value_that_flink_gave(case: Case, way: str) -> None:
    expr, calls = bind_aggregate(case.text)
    assert expr.type.as_summary_string() == case.type
    retract = way == "taken back"
    code = aggregate_program(calls, retract=retract, merges=not retract).load()

    def add(acc: Any, rows: list[Any]) -> Any:
        for row in rows:
            acc = code["accumulate"](acc, row)
        return acc

    if way == "merged":
        acc = code["merge"](add(code["create"](), ROWS[:2]), add(code["create"](), ROWS[2:]))
    elif retract:
        acc = add(code["create"](), [ROWS[2], ROWS[0]])
        for row in (ROWS[2], ROWS[0]):
            acc = code["retract"](acc, row)
        acc = add(acc, ROWS)
    else:
        acc = add(code["create"](), ROWS)
    assert recorded(shown(expr, code["result"](acc))) == case.value


# --- the whole -----------------------------------------------------------------------------------


def documented() -> list[str]:
    names = []
    for line in (CASES / "documented.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        words = line.partition(":")[2].strip()
        if words.startswith("||"):
            names.append("||")
            words = words[2:]
        for i, part in enumerate(words.split(" | ")):
            part = part.strip().removeprefix("|").strip()
            is_one = part in catalog.SCALARS or part in FORMS
            names += [part] if is_one and (i or " " in part) else part.split()
    return names


def ledger() -> dict[str, dict[str, str]]:
    return tomllib.loads((CASES / "ledger.toml").read_text())


@pytest.mark.parametrize("name", documented())
def test_a_documented_function_is_there_or_in_the_ledger(name: str) -> None:
    known = catalog.is_known(name) or catalog.is_aggregate(name) or name in FORMS
    assert known is (name not in ledger()["missing"])


def test_every_function_of_the_catalog_has_a_case() -> None:
    texts = "\n".join(
        path.read_text(encoding="utf-8")
        for path in CASES.glob("*.txt")
        if path.stem != "documented"
    )
    written = {name for name in catalog.SCALARS if name in texts}
    written |= {name for name in catalog.AGGREGATES if f"{name}(" in texts}
    elsewhere = {
        # Ask for a context; tests of operators and of expressions call them.
        "CURRENT_DATABASE", "CURRENT_WATERMARK", "PROCTIME", "SOURCE_WATERMARK",
        # Other names, and forms that SQL writes in another way.
        "AT", "CHARACTER_LENGTH", "LCASE", "LENGTH", "NEGATE", "POW", "UCASE", "UNARY +", "ITEM",
        "IS JSON VALUE", "IS NOT JSON VALUE", "IS NOT JSON SCALAR", "IS NOT JSON ARRAY",
        "IS NOT JSON OBJECT", "!=", "$SUM0", "SUM0",
        # Only over ordered rows, or made by the planner.
        *(name for name, function in catalog.AGGREGATES.items() if function.over_only),
        "SINGLE_VALUE",
    }  # fmt: skip
    assert {*catalog.SCALARS, *catalog.AGGREGATES} - written - elsewhere == set()


def test_a_function_says_what_it_does() -> None:
    functions = [*catalog.SCALARS.values(), *catalog.AGGREGATES.values()]
    assert [function.name for function in functions if not function.doc.strip()] == []
