"""Columns that only ever rise or fall in updates of the same row.

A maximum over a column that rises needs no memory of smaller values: a row that is taken back comes
again with a larger one.
"""

from __future__ import annotations

from penstock.graph.relational.algebra import Aggregate, Filter, Node, Project
from penstock.graph.relational.changelog import INSERTS, kinds_of
from penstock.graph.relational.expressions import InputRef
from penstock.graph.relational.physical import Calc, GlobalAggregate, LocalAggregate

_RISING = ("COUNT", "MAX")


def steady_calls(node: Aggregate | LocalAggregate) -> frozenset[int]:
    """Return the numbers of the MIN and MAX calls whose argument moves their way only.

    A row must also stay in its group, or it would take its value along to another.
    """
    if not all(_is_fixed(node.input, key) for key in node.keys):
        return frozenset()
    found = set()
    for number, call in enumerate(node.calls):
        if call.name not in ("MIN", "MAX") or not isinstance(call.args[0], InputRef):
            continue
        if direction(node.input, call.args[0].index) == call.name:
            found.add(number)
    return frozenset(found)


def _is_fixed(node: Node, column: int) -> bool:
    """Tell whether no update of a row changes a column: it is made of the keys of a group."""
    if isinstance(node, Project | Calc):
        return all(_is_fixed(node.input, i) for i in node.exprs[column].inputs())
    if isinstance(node, Filter):
        return _is_fixed(node.input, column)
    if isinstance(node, Aggregate | GlobalAggregate):
        return column < len(node.keys)
    return kinds_of(node) == INSERTS


def direction(node: Node, column: int) -> str | None:
    """Return MAX if updates of a row only raise a column, MIN if they only lower it."""
    if isinstance(node, Project | Calc):
        expr = node.exprs[column]
        return direction(node.input, expr.index) if isinstance(expr, InputRef) else None
    if isinstance(node, Filter):
        return direction(node.input, column)
    if isinstance(node, GlobalAggregate):
        node = Aggregate(node.schema, node.input.input, node.input.keys, node.calls)
    if isinstance(node, Aggregate) and kinds_of(node.input) == INSERTS:
        if column < len(node.keys):
            return None
        call = node.calls[column - len(node.keys)]
        if call.name in _RISING:
            return "MAX"
        return "MIN" if call.name == "MIN" else None
    return None
