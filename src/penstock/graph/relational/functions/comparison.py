"""Comparison: operators, IS NULL, BETWEEN, IN, LIKE and SIMILAR TO."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.graph.relational.expressions import Call, Expr, In, Literal, cast
from penstock.graph.relational.functions.function import Function, Rewrite, Signature, scalar
from penstock.graph.relational.type_rules import any_nullable, common_type, comparable
from penstock.graph.relational.types import BOOLEAN, CharacterType

if TYPE_CHECKING:
    from penstock.graph.relational.codegen.emitter import Emitter

_PAIR = Signature.parse("C, C")


def compare(operator: str, left: Expr, right: Expr) -> Call | None:
    """Return `left operator right`, both cast to the type in which they are compared."""
    pair = _PAIR.accept((left, right))
    if pair is None:
        return None
    return Call(operator, pair, BOOLEAN.with_nullability(any_nullable(arg.type for arg in pair)))


def _both(word: str, parts: tuple[Call | None, Call | None]) -> Expr | None:
    left, right = parts
    if left is None or right is None:
        return None
    nullable = left.type.is_nullable or right.type.is_nullable
    return Call(word, (left, right), BOOLEAN.with_nullability(nullable))


def _between(args: tuple[Expr, ...]) -> Expr | None:
    if len(args) != 3:
        return None
    value, low, high = args
    return _both("AND", (compare(">=", value, low), compare("<=", value, high)))


def _not_between(args: tuple[Expr, ...]) -> Expr | None:
    if len(args) != 3:
        return None
    value, low, high = args
    return _both("OR", (compare("<", value, low), compare(">", value, high)))


def _symmetric(
    rule: Callable[[tuple[Expr, ...]], Expr | None], word: str
) -> Callable[[tuple[Expr, ...]], Expr | None]:
    def rewrite(args: tuple[Expr, ...]) -> Expr | None:
        if len(args) != 3:
            return None
        one, other = rule(args), rule((args[0], args[2], args[1]))
        if not isinstance(one, Call) or not isinstance(other, Call):
            return None
        return _both(word, (one, other))

    return rewrite


def _in(negated: bool) -> Callable[[tuple[Expr, ...]], Expr | None]:
    def rewrite(args: tuple[Expr, ...]) -> Expr | None:
        if len(args) < 2:
            return None
        if all(isinstance(arg.type, CharacterType) for arg in args):
            return In(args[0], args[1:], negated)
        common = common_type([arg.type for arg in args])
        if common is None:
            common = args[0].type
            for arg in args[1:]:
                common = None if common is None else comparable(common, arg.type)
        if common is None:
            return None
        return In(cast(args[0], common), tuple(cast(a, common) for a in args[1:]), negated)

    return rewrite


def _like(negated: bool, word: str) -> Callable[[Call, Emitter], str]:
    """Return the rule: a constant pattern becomes a matcher that is made once."""

    def code(call: Call, emitter: Emitter) -> str:
        no = "not " if negated else ""
        if all(isinstance(arg, Literal) for arg in call.args[1:]):
            rest = ", ".join(emitter.value(arg) for arg in call.args[1:])
            matcher = emitter.hoist(f"{emitter.library(f'patterns.{word}_matcher')}({rest})")
            return f"{no}{matcher}($0)"
        return f"{no}@patterns.{word}($*)"

    return code


_TEXTS = ("string, string [, string]",)
_THREE = "(value, low, high)"

FUNCTIONS: list[Function | Rewrite] = [
    scalar("=", "C, C", BOOLEAN, "$0 == $1", "Whether two values are equal."),
    scalar("<>", "C, C", BOOLEAN, "$0 != $1", "Whether two values differ.", aliases=("!=",)),
    scalar(">", "C, C", BOOLEAN, "$0 > $1", "Whether the first value is greater."),
    scalar(">=", "C, C", BOOLEAN, "$0 >= $1", "Whether the first value is greater or equal."),
    scalar("<", "C, C", BOOLEAN, "$0 < $1", "Whether the first value is less."),
    scalar("<=", "C, C", BOOLEAN, "$0 <= $1", "Whether the first value is less or equal."),
    scalar("IS NULL", "any", BOOLEAN, "$0 is None", "Whether a value is NULL.", nulls="never"),
    scalar(
        "IS NOT NULL", "any", BOOLEAN, "$0 is not None", "Whether it is not NULL.", nulls="never"
    ),
    scalar(
        "IS DISTINCT FROM",
        "C, C",
        BOOLEAN,
        "$0 != $1",
        "Whether two values differ; NULL is equal to NULL.",
        nulls="never",
    ),
    scalar(
        "IS NOT DISTINCT FROM",
        "C, C",
        BOOLEAN,
        "$0 == $1",
        "Whether two values are equal; NULL is equal to NULL.",
        nulls="never",
    ),
    scalar("LIKE", _TEXTS, BOOLEAN, _like(False, "like"), "Whether a text fits % and _."),
    scalar("NOT LIKE", _TEXTS, BOOLEAN, _like(True, "like"), "Whether it does not fit."),
    scalar(
        "SIMILAR TO",
        _TEXTS,
        BOOLEAN,
        _like(False, "similar"),
        "Whether a text fits a SQL regular expression.",
    ),
    scalar("NOT SIMILAR TO", _TEXTS, BOOLEAN, _like(True, "similar"), "Whether it does not fit."),
    Rewrite("BETWEEN", (f"BETWEEN{_THREE}",), _between, "Whether low <= value <= high."),
    Rewrite("NOT BETWEEN", (f"NOT BETWEEN{_THREE}",), _not_between, "Whether it is outside."),
    Rewrite(
        "BETWEEN SYMMETRIC",
        (f"BETWEEN SYMMETRIC{_THREE}",),
        _symmetric(_between, "OR"),
        "BETWEEN with the bounds in either order.",
    ),
    Rewrite(
        "NOT BETWEEN SYMMETRIC",
        (f"NOT BETWEEN SYMMETRIC{_THREE}",),
        _symmetric(_not_between, "AND"),
        "NOT BETWEEN with the bounds in either order.",
    ),
    Rewrite("IN", ("IN(value, option...)",), _in(False), "Whether a value is one of some."),
    Rewrite("NOT IN", ("NOT IN(value, option...)",), _in(True), "Whether it is none of them."),
]
