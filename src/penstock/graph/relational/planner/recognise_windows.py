"""Aggregates over windows: those that group by the bounds of a window, and group windows."""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.relational.algebra import (
    Aggregate,
    GroupWindowAggregate,
    Node,
    WindowTable,
    project,
)
from penstock.graph.relational.expressions import Expr
from penstock.graph.relational.physical import (
    WindowAggregate,
)
from penstock.graph.relational.planner.window_columns import window_columns
from penstock.graph.relational.types import (
    PointInTimeType,
    RowField,
    RowType,
    TimestampType,
)


def recognise_windows(node: Node) -> Node:
    """Replace aggregates whose groups end with a window."""
    return node.transform(_recognise)


def _recognise(node: Node) -> Node | None:
    if isinstance(node, GroupWindowAggregate):
        return _group_window(node)
    if not isinstance(node, Aggregate):
        return None
    window = window_columns(node.input)
    if window is None or window.start not in node.keys or window.end not in node.keys:
        return None
    start, end = node.keys.index(window.start), node.keys.index(window.end)
    time = node.keys.index(window.time) if window.time in node.keys else -1
    fields = list(node.schema.fields)
    if time >= 0:
        fields[time] = RowField(fields[time].name, node.input.schema.fields[window.time].type)
    schema = RowType(tuple(fields), is_nullable=False)
    return WindowAggregate(
        schema, node.input, node.keys, node.calls, window.window, start, end, time
    )


def _group_window(node: GroupWindowAggregate) -> Node:
    """Return a group window as a window table function and an aggregate by its bounds."""
    source = node.input
    window = node.window
    if window.kind == "SESSION":
        window = replace(window, partition=node.keys)
    if window.time < 0:
        raise AssertionError("a group window has a column as its time attribute")
    kind = source.schema.fields[window.time].type
    assert isinstance(kind, PointInTimeType)
    bound = TimestampType(3, is_nullable=False)
    width = len(source.schema.fields)
    schema = RowType(
        (
            *source.schema.fields,
            RowField("w$start", bound),
            RowField("w$end", bound),
            RowField("w$time", kind.not_null()),
        ),
        is_nullable=False,
    )
    table = WindowTable(schema, source, window)
    keys = (*node.keys, width, width + 1, width + 2)
    count = len(node.keys)
    results = node.schema.fields[count : count + len(node.calls)]
    fields = tuple(schema.fields[k] for k in keys)
    done = WindowAggregate(
        RowType((*fields, *results), is_nullable=False), table, keys, node.calls, window,
        count, count + 1, count + 2,
    )  # fmt: skip
    columns: list[Expr] = [done.ref(i) for i in range(count)]
    columns += [done.ref(count + 3 + i) for i in range(len(node.calls))]
    place = {"start": count, "end": count + 1, "rowtime": count + 2, "proctime": count + 2}
    columns += [done.ref(place[word]) for word in node.properties]
    return project(done, columns, node.names())
