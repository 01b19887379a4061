"""Conditional functions and type conversion. CASE and CAST are nodes of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.graph.relational.expressions import Call, Expr, Literal, case, cast
from penstock.graph.relational.functions.comparison import compare
from penstock.graph.relational.functions.function import Function, Rewrite, common_of, scalar
from penstock.graph.relational.type_rules import common_type
from penstock.graph.relational.types import (
    DOUBLE,
    STRING,
    BooleanType,
    DoubleType,
    FloatType,
    LogicalType,
    NullType,
    RawType,
)

if TYPE_CHECKING:
    from penstock.graph.relational.codegen.emitter import Emitter


def _if(args: tuple[Expr, ...]) -> Expr | None:
    if len(args) != 3 or not isinstance(args[0].type, BooleanType | NullType):
        return None
    found = case([(args[0], args[1])], args[2])
    if found is None or not args[0].type.is_nullable:
        return found
    # Unlike CASE it is nullable if its condition is.
    return replace(found, type=found.type.nullable())


def _nullif(args: tuple[Expr, ...]) -> Expr | None:
    if len(args) != 2:
        return None
    equal = compare("=", *args)
    return None if equal is None else case([(equal, Literal(None, NullType()))], args[0])


def _coalesce(args: tuple[Expr, ...]) -> Expr | None:
    common = common_type([arg.type for arg in args])
    if not args or common is None:
        return None
    if isinstance(common, FloatType) and any(isinstance(a.type, DoubleType) for a in args):
        # Unlike in CASE the wider type wins.
        common = DOUBLE.with_nullability(common.is_nullable)
    # Nothing behind a value that is never NULL is looked at.
    needed: list[Expr] = []
    for arg in args:
        if isinstance(arg.type, NullType):
            continue
        needed.append(cast(arg, common))
        if not arg.type.is_nullable:
            break
    if len(needed) == 1:
        return needed[0]
    nullable = all(arg.type.is_nullable for arg in needed)
    return Call("COALESCE", tuple(needed), common.with_nullability(nullable))


def _ifnull(args: tuple[Expr, ...]) -> Expr | None:
    return _coalesce(args) if len(args) == 2 else None


def _coalesce_code(call: Call, emitter: Emitter) -> str:
    *first, last = call.args
    code = emitter.value(last)
    for arg in reversed(first):
        name = emitter.temporary()
        code = f"({name} if ({name} := {emitter.value(arg)}) is not None else {code})"
    return code


def _extreme(word: str) -> Callable[[Call, Emitter], str]:
    return lambda call, emitter: f"{word}($*)" if len(call.args) > 1 else "$0"


def _typeof_code(call: Call, emitter: Emitter) -> str:
    t: LogicalType = call.args[0].type
    full = len(call.args) == 2 and isinstance(call.args[1], Literal) and call.args[1].value
    if full and isinstance(t, RawType):
        return "None"
    return emitter.literal(t.as_summary_string())


FUNCTIONS: list[Function | Rewrite] = [
    Rewrite("IF", ("IF(condition, value, value)",), _if, "One of two values."),
    Rewrite("NULLIF", ("NULLIF(value, value)",), _nullif, "NULL if both are equal."),
    scalar(
        "COALESCE",
        "T, T...",
        common_of(),
        _coalesce_code,
        "The first that is not NULL.",
        nulls="own",
        rewrite=_coalesce,
    ),
    Rewrite("IFNULL", ("IFNULL(value, replacement)",), _ifnull, "The value or a replacement."),
    scalar("GREATEST", "T, T...", common_of(), _extreme("max"), "The greatest argument."),
    scalar("LEAST", "T, T...", common_of(), _extreme("min"), "The least argument."),
    scalar("TYPEOF", "any [, boolean]", STRING, _typeof_code, "The type as text.", nulls="own"),
    scalar(
        "CURRENT_DATABASE",
        "",
        STRING.not_null(),
        lambda call, emitter: emitter.literal(emitter.database),
        "The current database.",
    ),
]
