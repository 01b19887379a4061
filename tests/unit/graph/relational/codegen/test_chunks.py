"""Generated functions over chunks: values, laziness, sharing, depth."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import pytest

from penstock.errors import EvaluationError
from penstock.graph.relational.codegen.chunks import calc, condition, fold, keys
from penstock.graph.relational.codegen.program import FixedContext, failing_row
from penstock.graph.relational.expressions import (
    Expr,
    FieldAccess,
    In,
    InputRef,
    Literal,
    UdfCall,
    case,
    cast,
)
from penstock.graph.relational.functions.catalog import resolve
from penstock.graph.relational.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    ArrayType,
    DecimalType,
    RowType,
)
from penstock.graph.relational.user_functions import UserFunction

A = InputRef(0, INT, "a")
B = InputRef(1, INT.not_null(), "b")
S = InputRef(2, STRING, "s")


def number(value: int) -> Literal:
    return Literal(value, INT.not_null())


def run(exprs: list[Expr], rows: list[Any], where: Expr | None = None, arity: int = 3) -> list[Any]:
    program = pickle.loads(pickle.dumps(calc(exprs, where, arity)))
    return program.load(FixedContext(now=1_000))["calc"](rows)


def test_null_is_tested_only_where_a_type_allows_it() -> None:
    source = calc([resolve("+", (A, B))], None, 3).source
    assert "c0 is None" in source
    assert "c1 is None" not in source


def test_a_projection_computes_and_keeps_null() -> None:
    rows = [(1, 2, "x"), (None, 3, None)]
    assert run([resolve("+", (A, B)), S], rows) == [(3, "x"), (None, None)]


def test_a_filter_keeps_only_what_is_true() -> None:
    rows = [(5, 1, "x"), (None, 1, "y"), (0, 1, "z")]
    assert run([S], rows, resolve(">", (A, B))) == [("x",)]
    assert run([S], rows, resolve("NOT", (resolve(">", (A, B)),))) == [("z",)]


def test_a_filter_alone_hands_the_same_rows_on() -> None:
    rows = [(5, 1, "x"), (0, 1, "z")]
    kept = calc(None, resolve(">", (A, B)), 3).load()["calc"](rows)
    assert kept[0] is rows[0]
    assert len(kept) == 1


def test_lists_beside_the_rows_lose_what_the_filter_drops() -> None:
    program = calc([S], resolve(">", (A, B)), 3, carried=2).load()["calc"]
    rows = [(5, 1, "x"), (0, 1, "y"), (7, 1, "z")]
    assert program(rows, [0, 1, 2], [10, 11, 12]) == ([("x",), ("z",)], [0, 2], [10, 12])
    whole = calc([S], None, 3, carried=1).load()["calc"]
    assert whole(rows, [0, 1, 2]) == ([("x",), ("y",), ("z",)], [0, 1, 2])


def test_a_branch_that_is_not_taken_is_not_computed() -> None:
    quotient = resolve("/", (number(10), A))
    guarded = case([(resolve("=", (A, number(0))), number(-1))], quotient)
    assert guarded is not None
    assert run([guarded], [(0, 1, ""), (5, 1, "")]) == [(-1,), (2,)]
    both = resolve("AND", (resolve("<>", (A, number(0))), resolve(">", (quotient, number(1)))))
    assert run([A], [(0, 1, ""), (5, 1, "")], both) == [(5,)]


def test_what_occurs_twice_is_computed_once() -> None:
    calls: list[int] = []

    class Counting:
        def eval(self, value: int) -> int:
            calls.append(value)
            return value * 2

    function = UserFunction("f", "scalar", Counting(), BIGINT)
    call = UdfCall(function, (A,), BIGINT)
    program = calc([resolve("+", (call, call)), call], resolve(">", (call, number(0))), 3)
    assert program.load()["calc"]([(3, 1, "")]) == [(12, 6)]
    assert calls == [3]
    unsteady = UserFunction("g", "scalar", Counting(), BIGINT, deterministic=False)
    twice = UdfCall(unsteady, (A,), BIGINT)
    assert calc([twice, twice], None, 3).load()["calc"]([(3, 1, "")]) == [(6, 6)]
    assert calls == [3, 3, 3]


def test_what_only_occurs_in_branches_stays_there() -> None:
    quotient = resolve("/", (number(10), A))
    safe = case([(resolve("=", (A, number(0))), number(0))], resolve("+", (quotient, quotient)))
    assert safe is not None
    assert run([safe], [(0, 1, "")]) == [(0,)]


def test_three_valued_logic() -> None:
    x, y = InputRef(0, BOOLEAN, "x"), InputRef(1, BOOLEAN, "y")
    rows = [(p, q) for p in (True, False, None) for q in (True, False, None)]
    got = run([resolve("AND", (x, y)), resolve("OR", (x, y)), resolve("NOT", (x,))], rows, None, 2)
    assert got == [
        (True, True, False), (False, True, False), (None, True, False),
        (False, True, True), (False, False, True), (False, None, True),
        (None, True, None), (False, None, None), (None, None, None),
    ]  # fmt: skip


def test_in_with_constants_and_null() -> None:
    options = (number(1), Literal(None, INT))
    assert run([In(A, options), In(A, options, negated=True)], [(1, 0, ""), (2, 0, "")]) == [
        (True, False),
        (None, None),
    ]
    assert run([In(A, (number(1), B))], [(7, 7, ""), (None, 7, "")]) == [(True,), (None,)]


@pytest.mark.parametrize("count", [10, 250, 600])
def test_deep_and_long_expressions_compile(count: int) -> None:
    total: Expr = A
    for _ in range(min(count, 250)):
        total = resolve("+", (total, number(1)))
    branches = [(resolve("=", (A, number(i))), number(-i)) for i in range(count)]
    chosen = case(branches, A)
    assert chosen is not None
    parts = tuple(resolve("<>", (A, number(i))) for i in range(5, count + 5))
    rows = [(3, 0, ""), (-7, 0, "")]
    got = run([total, chosen], rows, resolve("AND", parts))
    assert got == [(3 + min(count, 250), -3), (-7 + min(count, 250), -7)]


def test_a_decimal_that_overflows_is_null_and_the_next_step_bears_it() -> None:
    most = Literal(Decimal("9" * 38), DecimalType(38, 0, is_nullable=False))
    sum_ = resolve("+", (most, number(1)))
    assert run([sum_, resolve("+", (sum_, number(1)))], [(1, 1, "")]) == [(None, None)]


def test_fields_of_rows() -> None:
    row = InputRef(0, RowType.of(("x", INT), ("y", STRING)), "r")
    assert run([FieldAccess(row, 1)], [((1, "q"),), (None,)], None, 1) == [("q",), (None,)]


def test_keys_can_be_hashed() -> None:
    array = InputRef(0, ArrayType(INT), "x")
    made = keys([array, A], 3).load()["keys"]([([1, 2], 0, "")])
    assert made == [((1, 2), [1, 2])]
    assert hash(keys([array], 1, bare=True).load()["keys"]([([1, 2],)])[0])
    assert keys([B], 3, bare=True).load()["keys"]([(1, 7, "")]) == [7]


def test_a_join_condition_sees_two_rows() -> None:
    left, right = InputRef(0, INT, "l"), InputRef(2, INT, "r")
    loaded = condition(resolve("<", (left, right)), 2).load()
    assert loaded["matches"]((1, 0), (5,)) is True
    assert loaded["matches"]((None, 0), (5,)) is False
    assert loaded["matching"]((3, 0), [(1,), (4,), (None,)]) == [(4,)]


def test_constants_are_folded_and_failures_left_for_the_run() -> None:
    one = fold(resolve("+", (number(1), number(2))))
    assert one == Literal(3, INT.not_null())
    failing = resolve("/", (number(1), number(0)))
    assert fold(failing) == failing
    assert fold(resolve("RAND", ())) == resolve("RAND", ())


def test_the_row_that_fails_is_found() -> None:
    program = calc([resolve("/", (B, A))], None, 3).load()["calc"]
    rows = [(1, 10, "x"), (0, 10, "y")]
    with pytest.raises(EvaluationError) as caught:
        program(rows)
    frames = []
    trace = caught.value.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    generated = [f for f in frames if f.f_code.co_filename.startswith("<generated")]
    assert failing_row(generated[0].f_locals) == rows[1]
    assert str(caught.value) == (
        "Division by zero\n  to do: test the divisor, for instance with NULLIF(divisor, 0)"
    )


def test_values_that_texts_must_not_disturb() -> None:
    # Names of locals and parentheses inside texts are not taken for code.
    text = Literal("c0 (row) ((", STRING.not_null())
    assert run([resolve("||", (text, cast(A, STRING)))], [(1, 2, "")]) == [("c0 (row) ((1",)]


def test_doubles_that_are_no_numbers() -> None:
    nan = Literal(float("nan"), DOUBLE.not_null())
    got = run([nan, Literal(float("-inf"), DOUBLE.not_null())], [(1, 1, "")])
    assert got[0][0] != got[0][0]
    assert got[0][1] == float("-inf")
