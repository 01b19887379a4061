"""Which columns of a node are the bounds of a window that each row belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.graph.relational.algebra import (
    Correlate,
    Expand,
    Filter,
    Node,
    Project,
    WindowSpecification,
    WindowTable,
)
from penstock.graph.relational.expressions import Expr, InputRef
from penstock.graph.relational.physical import (
    Calc,
    WindowAggregate,
    WindowJoin,
    WindowRank,
)


@dataclass(frozen=True)
class WindowColumns:
    """Positions of window_start, window_end and window_time; -1 where one is not there."""

    start: int
    end: int
    time: int
    window: WindowSpecification


def window_columns(node: Node) -> WindowColumns | None:
    """Return the window columns of a node, if its rows belong to windows."""
    if isinstance(node, WindowTable):
        width = len(node.schema.fields)
        return WindowColumns(width - 3, width - 2, width - 1, node.window)
    if isinstance(node, Project | Calc):
        return _mapped(window_columns(node.input), node.exprs)
    if isinstance(node, Filter | Correlate):
        return window_columns(node.input)
    if isinstance(node, Expand):
        found = window_columns(node.input)
        kept = found is not None and all({found.start, found.end} <= set(s) for s in node.sets)
        return found if kept else None
    if isinstance(node, WindowRank):
        return window_columns(node.input)
    if isinstance(node, WindowJoin):
        return window_columns(node.left)
    if isinstance(node, WindowAggregate):
        return WindowColumns(node.start, node.end, node.time, node.window)
    return None


def _mapped(found: WindowColumns | None, exprs: tuple[Expr, ...]) -> WindowColumns | None:
    if found is None:
        return None
    places = {expr.index: i for i, expr in reversed(list(enumerate(exprs)))
              if isinstance(expr, InputRef)}  # fmt: skip
    start, end, time = (places.get(i, -1) for i in (found.start, found.end, found.time))
    return WindowColumns(start, end, time, found.window) if end >= 0 and start >= 0 else None
