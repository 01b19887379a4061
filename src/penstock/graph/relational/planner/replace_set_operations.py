"""INTERSECT and EXCEPT become semi and anti joins of distinct rows, as in Flink."""

from __future__ import annotations

from penstock.graph.relational.algebra import Aggregate, Join, Node, SetOperation
from penstock.graph.relational.expressions import Call, Expr
from penstock.graph.relational.planner.conditions import conjunction
from penstock.graph.relational.types import (
    BooleanType,
    LogicalType,
    PointInTimeType,
    RowField,
    RowType,
    TimeAttribute,
)


def replace_set_operations(node: Node) -> Node:
    """Replace INTERSECT and EXCEPT without ALL. Those with ALL have an operator of their own."""
    return node.transform(_replace)


def _replace(node: Node) -> Node | None:
    if not isinstance(node, SetOperation) or node.all:
        return None
    width = len(node.left.schema.fields)
    pairs: list[Expr] = []
    for a, b in zip(node.left.refs(), node.right.refs(), strict=True):
        other = b.shifted(lambda index: index + width)
        nullable = a.type.is_nullable or b.type.is_nullable
        function = "IS NOT DISTINCT FROM" if nullable else "="
        pairs.append(Call(function, (a, other), BooleanType(is_nullable=False)))
    kind = "semi" if node.kind == "intersect" else "anti"
    joined = Join(node.left.schema, node.left, node.right, kind, conjunction(pairs))
    fields = tuple(RowField(c.name, _plain(c)) for c in node.schema.fields)
    keys = tuple(range(width))
    return Aggregate(RowType(fields, is_nullable=False), joined, keys, ())


def _plain(column: RowField) -> LogicalType:
    kind = column.type
    if isinstance(kind, PointInTimeType) and kind.is_attribute:
        return kind.as_attribute(TimeAttribute.NONE)
    return kind
