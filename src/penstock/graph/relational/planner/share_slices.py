"""Windows that overlap share slices: a row is accumulated once, not once a window.

HOP and CUMULATE windows begin and end at multiples of their slide or step. A slice is what lies
between two of these; a window's result is its slices, merged when it ends. Rows are put into slices
by their time, so they carry no bounds of windows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.graph.relational.algebra import Node, WindowTable
from penstock.graph.relational.expressions import Expr, InputRef
from penstock.graph.relational.physical import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    Calc,
    SlicedAggregate,
    WindowAggregate,
)
from penstock.graph.relational.planner.split_aggregates import is_mergeable
from penstock.graph.relational.types import RowField, RowType


def share_slices(node: Node) -> Node:
    """Replace aggregates of HOP and CUMULATE windows whose accumulators can be merged."""
    return node.transform(_share)


@dataclass
class _Below:
    """The rows of windows without the windows' bounds."""

    node: Node
    places: dict[int, int]  # where each column is that is no bound
    time: int  # where the time attribute is


def _share(node: Node) -> Node | None:
    if not isinstance(node, WindowAggregate) or not _has_slices(node):
        return None
    below = _without_bounds(node.input)
    if below is None or not all(call.inputs() <= below.places.keys() for call in node.calls):
        return None
    bounds = {node.start: WINDOW_START, node.end: WINDOW_END, node.time: WINDOW_TIME}
    keys: list[int] = []
    columns = []
    for position, key in enumerate(node.keys):
        if position in bounds:
            columns.append(bounds[position])
        elif key in below.places:
            columns.append(len(keys))
            keys.append(below.places[key])
        else:
            return None  # a bound that is named twice
    calls = tuple(call.map(lambda e: _moved(e, below.places)) for call in node.calls)
    window = replace(node.window, time=below.time)
    return SlicedAggregate(node.schema, below.node, tuple(keys), calls, window, tuple(columns))


def _has_slices(node: WindowAggregate) -> bool:
    window = node.window
    return (
        window.kind in ("HOP", "CUMULATE")
        and window.size > window.slide
        and window.size % window.slide == 0
        and all(is_mergeable(call, updates=False) for call in node.calls)
    )


def _without_bounds(node: Node) -> _Below | None:
    """Return what a window table function reads, with what is computed behind it."""
    if isinstance(node, WindowTable):
        places = {i: i for i in range(len(node.input.schema.fields))}
        return _Below(node.input, places, node.window.time)
    below = _without_bounds(node.input) if isinstance(node, Calc) else None
    if below is None:
        return None
    assert isinstance(node, Calc)
    condition = node.condition
    if condition is not None and not condition.inputs() <= below.places.keys():
        return None
    exprs: list[Expr] = []
    fields: list[RowField] = []
    places = {}
    for i, expr in enumerate(node.exprs):
        if expr.inputs() <= below.places.keys():
            places[i] = len(exprs)
            exprs.append(_moved(expr, below.places))
            fields.append(node.schema.fields[i])
        elif not isinstance(expr, InputRef):
            return None  # computed from a bound
    times = [i for i, e in enumerate(exprs) if isinstance(e, InputRef) and e.index == below.time]
    if not times:
        times = [len(exprs)]
        exprs.append(below.node.ref(below.time))
        fields.append(below.node.schema.fields[below.time])
    moved = None if condition is None else _moved(condition, below.places)
    made = Calc(RowType(tuple(fields), is_nullable=False), below.node, moved, tuple(exprs))
    return _Below(made, places, times[0])


def _moved(expr: Expr, places: dict[int, int]) -> Expr:
    return expr.shifted(places.__getitem__)
