"""Compute what does not depend on a row when the query is planned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.graph.relational.algebra import Filter, Join, Node, Project
from penstock.graph.relational.expressions import Call, Cast, Expr, Literal
from penstock.graph.relational.planner.conditions import conjunction, conjuncts
from penstock.graph.relational.types import CharacterType, SymbolType


def fold_constants(node: Node) -> Node:
    """Replace casts of constant texts and drop conditions that are TRUE."""
    return node.transform(_fold)


def _fold(node: Node) -> Node | None:
    if isinstance(node, Filter):
        condition = conjunction(conjuncts(node.condition.transform(fold)))
        return node.input if condition is None else replace(node, condition=condition)
    if isinstance(node, Project):
        return replace(node, exprs=tuple(expr.transform(fold) for expr in node.exprs))
    if isinstance(node, Join) and node.condition is not None:
        return replace(node, condition=conjunction(conjuncts(node.condition.transform(fold))))
    return None


def fold(expr: Expr) -> Expr | None:
    """Return the constant that a node of constants is, or None."""
    if isinstance(expr, Cast) and isinstance(expr.operand, Literal):
        return _cast(expr, expr.operand)
    if isinstance(expr, Call) and expr.function in ("AND", "OR"):
        return _junction(expr)
    return None


def _cast(expr: Cast, operand: Literal) -> Expr | None:
    """Return the constant in the other type, where its value stays the same."""
    value, source, target = operand.value, operand.type, expr.type
    if value is None:
        return Literal(None, target.nullable())
    if isinstance(source, SymbolType):
        return None
    if isinstance(source, CharacterType) and type(target).__name__ == "VarCharType":
        assert isinstance(target, CharacterType)
        return Literal(value, target) if len(value) <= target.length else None
    wide = {"IntType": 32, "BigIntType": 64, "SmallIntType": 16, "TinyIntType": 8}
    bits = wide.get(type(target).__name__)
    if type(source).__name__ in wide and bits and -(1 << bits - 1) <= value < 1 << bits - 1:
        return Literal(value, target)
    if type(source).__name__ in wide and type(target).__name__ == "DoubleType":
        return Literal(float(value), target)
    return None


def _junction(call: Call) -> Expr | None:
    neutral = call.function == "AND"
    kept: list[Any] = []
    for arg in call.args:
        if isinstance(arg, Literal) and arg.value is neutral:
            continue
        if isinstance(arg, Literal) and arg.value is (not neutral):
            return arg
        kept.append(arg)
    if len(kept) == len(call.args):
        return None
    if not kept:
        return Literal(neutral, call.type.not_null())
    return kept[0] if len(kept) == 1 else replace(call, args=tuple(kept))
