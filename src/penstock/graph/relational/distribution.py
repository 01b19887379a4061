"""Which columns chose the subtask that a row is in: who groups by them again needs no exchange.

Each exchange is a level of the query and costs every batch its share. A join and an aggregate on
the same key can stand on one level: rows that are equal in the key are together already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice, product
from typing import Any

from penstock.graph.relational import algebra as a
from penstock.graph.relational import physical as p
from penstock.graph.relational.expressions import InputRef

#: Positions of columns whose values are, in this order, the key of a row.
Columns = tuple[int, ...]
_Found = frozenset[Columns]

_NOWHERE: _Found = frozenset()
#: Ways in which a projection may repeat the columns of a key; more are not looked at.
_MOST_COPIES = 16


def parted_by(node: a.Node) -> _Found:
    """Return the lists of columns by which the rows of a node are parted already.

    Several if columns are equal, as the keys of both sides of a join are; none if rows may be
    in any subtask.
    """
    rule = _RULES.get(type(node))
    return _NOWHERE if rule is None else rule(node)


def _one(columns: Sequence[int]) -> _Found:
    # Without a key all rows are in one subtask, which has no others to share a level with.
    return frozenset([tuple(columns)]) if columns else _NOWHERE


def _of_group(node: a.Aggregate | p.GlobalAggregate) -> _Found:
    return _one(range(len(node.keys)))


def _of_local_aggregate(node: p.LocalAggregate) -> _Found:
    position = {key: i for i, key in enumerate(node.keys)}
    return frozenset(
        tuple(position[column] for column in columns)
        for columns in parted_by(node.input)
        if position.keys() >= set(columns)
    )


def _of_window_aggregate(node: p.WindowAggregate) -> _Found:
    bounds = (node.start, node.end, node.time)
    return _one([i for i in range(len(node.keys)) if i not in bounds])


def _of_sliced_aggregate(node: p.SlicedAggregate) -> _Found:
    keys = range(len(node.keys))
    if not all(key in node.columns for key in keys):
        return _NOWHERE
    return _one([node.columns.index(key) for key in keys])


def _of_join(node: p.EquiJoin | p.IntervalJoin | p.WindowJoin) -> _Found:
    """Rows have the key of both sides; that of a side which may be missing is NULL then."""
    width = len(node.left.schema.fields)
    left = _one(node.left_keys)
    right = _one([width + key for key in node.right_keys])
    if node.kind == "inner":
        return left | right
    return {"left": left, "semi": left, "anti": left, "right": right}.get(node.kind, _NOWHERE)


def _of_calc(node: p.Calc) -> _Found:
    places: dict[int, list[int]] = {}
    for i, expr in enumerate(node.exprs):
        if isinstance(expr, InputRef):
            places.setdefault(expr.index, []).append(i)
    found: set[Columns] = set()
    for columns in parted_by(node.input):
        copies = product(*(places.get(column, ()) for column in columns))
        found.update(islice(copies, _MOST_COPIES))
    return frozenset(found)


def _of_input(node: Any) -> _Found:
    """Rows stay where they are, and their columns in front."""
    return parted_by(node.input)


_RULES: dict[type, Callable[[Any], _Found]] = {
    a.Aggregate: _of_group,
    p.GlobalAggregate: _of_group,
    p.LocalAggregate: _of_local_aggregate,
    p.WindowAggregate: _of_window_aggregate,
    p.SlicedAggregate: _of_sliced_aggregate,
    p.EquiJoin: _of_join,
    p.IntervalJoin: _of_join,
    p.WindowJoin: _of_join,
    p.Rank: lambda node: _one(node.partition),
    p.Deduplicate: lambda node: _one(node.keys),
    p.ChangelogNormalize: lambda node: _one(node.keys),
    p.Calc: _of_calc,
    a.Watermark: _of_input,
    a.Correlate: _of_input,
}
