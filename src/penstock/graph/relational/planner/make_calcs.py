"""Filters and projections become calcs: one loop each."""

from __future__ import annotations

from penstock.graph.relational.algebra import Filter, Node, Project
from penstock.graph.relational.physical import Calc
from penstock.graph.relational.planner.conditions import conjunction, conjuncts
from penstock.graph.relational.planner.merge_projections import is_pure, substitute


def make_calcs(node: Node) -> Node:
    """Put each projection and the filters around it into one calc."""
    return node.transform(_make)


def _make(node: Node) -> Node | None:
    if isinstance(node, Filter):
        calc = Calc(node.schema, node.input, node.condition, tuple(node.input.refs()))
    elif isinstance(node, Project):
        calc = Calc(node.schema, node.input, None, node.exprs)
    else:
        return None
    below = calc.input
    if isinstance(below, Calc) and _may_merge(calc, below):
        exprs = tuple(substitute(expr, below.exprs) for expr in calc.exprs)
        parts = conjuncts(below.condition)
        if calc.condition is not None:
            parts += [substitute(part, below.exprs) for part in conjuncts(calc.condition)]
        return Calc(calc.schema, below.input, conjunction(parts), exprs)
    return calc


def _may_merge(calc: Calc, below: Calc) -> bool:
    """Tell whether two calcs can be one; what the lower filter keeps away stays away."""
    if calc.condition is not None and not all(
        is_pure(below.exprs[i]) for i in calc.condition.inputs()
    ):
        return False
    read: dict[int, int] = {}
    for expr in [*calc.exprs, *([calc.condition] if calc.condition is not None else [])]:
        for index in expr.inputs():
            read[index] = read.get(index, 0) + 1
    return all(
        count == 1 or len(list(below.exprs[index].walk())) == 1 for index, count in read.items()
    )
