"""Columns that only ever rise or fall in updates of the same row.

A maximum over a column that rises needs no memory of smaller values: a row that is taken back comes
again with a larger one.
"""

from __future__ import annotations

from penstock.graph.relational.algebra import Aggregate, Filter, Node, Project
from penstock.graph.relational.changelog import INSERTS, kinds_of
from penstock.graph.relational.expressions import InputRef
from penstock.graph.relational.physical import Calc

_RISING = ("COUNT", "MAX")


def steady_calls(node: Aggregate) -> frozenset[int]:
    """Return the numbers of the MIN and MAX calls whose argument moves their way only."""
    found = set()
    for number, call in enumerate(node.calls):
        if call.name not in ("MIN", "MAX") or not isinstance(call.args[0], InputRef):
            continue
        if direction(node.input, call.args[0].index) == call.name:
            found.add(number)
    return frozenset(found)


def direction(node: Node, column: int) -> str | None:
    """Return MAX if updates of a row only raise a column, MIN if they only lower it."""
    if isinstance(node, Project | Calc):
        expr = node.exprs[column]
        return direction(node.input, expr.index) if isinstance(expr, InputRef) else None
    if isinstance(node, Filter):
        return direction(node.input, column)
    if isinstance(node, Aggregate) and kinds_of(node.input) == INSERTS:
        if column < len(node.keys):
            return None
        call = node.calls[column - len(node.keys)]
        if call.name in _RISING:
            return "MAX"
        return "MIN" if call.name == "MIN" else None
    return None
