"""Partitions that a filter excludes are not read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.graph.relational.algebra import Filter, Node, Scan
from penstock.graph.relational.codegen.chunks import calc
from penstock.graph.relational.expressions import Literal
from penstock.graph.relational.planner.conditions import conjunction, conjuncts
from penstock.graph.relational.planner.merge_projections import is_pure
from penstock.graph.relational.types import BOOLEAN


def prune_partitions(node: Node) -> Node:
    """Give each filtered scan the partitions that can have rows.

    The filter stays: it may say more, and costs little on what is left.
    """
    return node.transform(_prune)


def _prune(node: Node) -> Node | None:
    if not isinstance(node, Filter) or not isinstance(node.input, Scan):
        return None
    table = node.input.table
    partitions = getattr(table, "partitions", None)
    if partitions is None:
        return None
    columns = set(partitions.columns)
    parts = [
        part for part in conjuncts(node.condition)
        if part.inputs() and set(part.inputs()) <= columns and is_pure(part)
    ]  # fmt: skip
    condition = conjunction(parts)
    if condition is None:
        return None
    width = len(node.input.schema.fields)
    keep = calc([Literal(True, BOOLEAN)], condition, width).load()["calc"]
    wanted = [
        values for values in partitions.values() if keep([_row(width, partitions.columns, values)])
    ]
    return replace(node, input=replace(node.input, table=table.of_partitions(wanted)))


def _row(width: int, columns: tuple[int, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    row: list[Any] = [None] * width
    for column, value in zip(columns, values, strict=True):
        row[column] = value
    return tuple(row)
