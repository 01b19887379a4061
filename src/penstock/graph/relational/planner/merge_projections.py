"""Projections of projections become one; filters go below projections of plain columns."""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.relational.algebra import Node, Project
from penstock.graph.relational.expressions import Call, Expr, InputRef, Literal, UdfCall
from penstock.graph.relational.functions import catalog

#: An expression that is used more often than this would be computed again.
_CHEAP = (InputRef, Literal)


def merge_projections(node: Node) -> Node:
    """Merge each projection with the one below, unless work would be done twice."""
    return node.transform(_merge)


def _merge(node: Node) -> Node | None:
    if not isinstance(node, Project):
        return None
    if _is_identity(node):
        return node.input
    below = node.input
    if not isinstance(below, Project) or not _may_merge(node, below):
        return None
    exprs = tuple(substitute(expr, below.exprs) for expr in node.exprs)
    merged = replace(node, input=below.input, exprs=exprs)
    return _merge(merged) or merged


def _is_identity(node: Project) -> bool:
    return node.schema == node.input.schema and all(
        isinstance(expr, InputRef) and expr.index == i for i, expr in enumerate(node.exprs)
    )


def _may_merge(node: Project, below: Project) -> bool:
    uses: dict[int, int] = {}
    for expr in node.exprs:
        for leaf in expr.walk():
            if isinstance(leaf, InputRef):
                uses[leaf.index] = uses.get(leaf.index, 0) + 1
    return all(
        isinstance(below.exprs[index], _CHEAP) or (count == 1 and is_pure(below.exprs[index]))
        for index, count in uses.items()
    )


def is_pure(expr: Expr) -> bool:
    """Tell whether an expression gives the same for equal rows, so that it may move."""
    for leaf in expr.walk():
        if isinstance(leaf, UdfCall):
            return False
        if isinstance(leaf, Call) and not catalog.scalar_function(leaf.function).deterministic:
            return False
    return True


def substitute(expr: Expr, exprs: tuple[Expr, ...]) -> Expr:
    """Return an expression over a projection's output as one over its input."""

    def change(leaf: Expr) -> Expr | None:
        return exprs[leaf.index] if isinstance(leaf, InputRef) else None

    return expr.transform(change)
