"""Functions over whole chunks (pandas, asynchronous) inside a projection or filter.

A query with such a function is cut into stages: each computes one call for the whole chunk and puts
its result behind the row's columns, where the next stages read it as a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.graph.relational.expressions import Expr, InputRef, UdfCall
from penstock.graph.relational.types import NULL


@dataclass(frozen=True)
class Stage:
    """One pass over a chunk: a call over columns, or a filter with a projection."""

    arity: int
    projection: tuple[Expr, ...] | None = None
    condition: Expr | None = None
    vectorized: UdfCall | None = None


def stages(
    projection: Sequence[Expr] | None, condition: Expr | None, arity: int
) -> Iterator[Stage]:
    """Cut a calc into stages; one alone if no function works on columns."""
    exprs: list[Expr] = list(projection or ())
    if not any(_calls([*exprs, *([condition] if condition else [])])):
        yield Stage(arity, None if projection is None else tuple(exprs), condition)
        return
    width = arity
    if condition is not None:
        [condition], made = _lifted([condition], width)
        for call in made:
            yield Stage(width, vectorized=call)
            width += 1
        yield Stage(width, None, condition)
    if projection is None:
        yield Stage(width, tuple(InputRef(i, NULL) for i in range(arity)))
        return
    exprs, made = _lifted(exprs, width)
    for call in made:
        yield Stage(width, vectorized=call)
        width += 1
    yield Stage(width, tuple(exprs))


def _calls(exprs: Sequence[Expr]) -> Iterator[UdfCall]:
    for expr in exprs:
        for node in expr.walk():
            if isinstance(node, UdfCall) and node.function.works_on_chunks:
                yield node


def _lifted(exprs: Sequence[Expr], width: int) -> tuple[list[Expr], list[UdfCall]]:
    """Return the expressions with calls over columns replaced by the columns of their results."""
    made: dict[UdfCall, int] = {}

    def change(node: Expr) -> Expr | None:
        if not isinstance(node, UdfCall) or not node.function.works_on_chunks:
            return None
        index = made.setdefault(node, width + len(made))
        return InputRef(index, node.type, node.function.name)

    changed = [expr.transform(change) for expr in exprs]
    return changed, list(made)
