"""Conditions taken apart: conjuncts, equal columns of a join, constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.graph.relational.expressions import Call, Expr, InputRef, Literal
from penstock.graph.relational.types import BooleanType

#: What a comparison becomes when its sides are swapped.
SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


def conjuncts(condition: Expr | None) -> list[Expr]:
    """Return the parts that a condition joins by AND."""
    if condition is None:
        return []
    if isinstance(condition, Call) and condition.function == "AND":
        return [part for arg in condition.args for part in conjuncts(arg)]
    if isinstance(condition, Literal) and condition.value is True:
        return []
    return [condition]


def conjunction(parts: Sequence[Expr]) -> Expr | None:
    """Return the AND of the parts; None if there are none."""
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    nullable = any(part.type.is_nullable for part in parts)
    return Call("AND", tuple(parts), BooleanType(is_nullable=nullable))


@dataclass
class JoinParts:
    """A join's condition: pairs of equal expressions, and the rest."""

    left: list[Expr] = field(default_factory=list)
    right: list[Expr] = field(default_factory=list)  # over the right row
    null_safe: list[bool] = field(default_factory=list)
    rest: list[Expr] = field(default_factory=list)


def split_join(condition: Expr | None, width: int) -> JoinParts:
    """Take a join's condition apart. Columns below `width` are the left side's."""
    parts = JoinParts()
    for part in conjuncts(condition):
        pair = _equal_pair(part, width)
        if pair is None:
            parts.rest.append(part)
        else:
            parts.left.append(pair[0])
            parts.right.append(pair[1].shifted(lambda i: i - width))
            parts.null_safe.append(pair[2])
    return parts


def _equal_pair(part: Expr, width: int) -> tuple[Expr, Expr, bool] | None:
    if not isinstance(part, Call) or part.function not in ("=", "IS NOT DISTINCT FROM"):
        return None
    a, b = part.args
    null_safe = part.function != "="
    for left, right in ((a, b), (b, a)):
        ours, theirs = left.inputs(), right.inputs()
        if ours and theirs and max(ours) < width <= min(theirs):
            return left, right, null_safe
    return None


def as_column(expr: Expr) -> int | None:
    """Return the position if the expression is just a column."""
    return expr.index if isinstance(expr, InputRef) else None
