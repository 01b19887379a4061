"""Filters move towards the sources: through projections, unions and aggregates, into joins."""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.relational.algebra import (
    Aggregate,
    Filter,
    Join,
    Node,
    Project,
    SystemTimeJoin,
    Union,
)
from penstock.graph.relational.expressions import Expr, InputRef
from penstock.graph.relational.planner.conditions import conjunction, conjuncts
from penstock.graph.relational.planner.merge_projections import is_pure, substitute


def push_filters(node: Node) -> Node:
    """Move every conjunct as far down as it can go."""
    return _push(node, [])


def _push(node: Node, parts: list[Expr]) -> Node:
    """Return the node with these conditions on its output in effect."""
    if isinstance(node, Filter):
        return _push(node.input, [*conjuncts(node.condition), *parts])
    if isinstance(node, Project):
        through: list[Expr] = []
        stay: list[Expr] = []
        for part in parts:
            plain = all(is_pure(node.exprs[i]) for i in part.inputs())
            (through if plain and is_pure(part) and _is_cheap(node, part) else stay).append(part)
        moved = [substitute(part, node.exprs) for part in through]
        return _filtered(replace(node, input=_push(node.input, moved)), stay)
    if isinstance(node, Union):
        if parts:
            sources = [_push(source, list(parts)) for source in node.sources]
        else:
            sources = [_push(source, []) for source in node.sources]
        return node.with_inputs(sources)
    if isinstance(node, Aggregate):
        groups = [p for p in parts if _reads_keys(node, p)]
        stay = [p for p in parts if p not in groups]
        moved = [p.shifted(node.keys.__getitem__) for p in groups]
        return _filtered(replace(node, input=_push(node.input, moved)), stay)
    if isinstance(node, Join):
        return _push_join(node, parts)
    if isinstance(node, SystemTimeJoin):
        width = len(node.left.schema.fields)
        left = [p for p in parts if max(p.inputs(), default=width) < width and is_pure(p)]
        stay = [p for p in parts if p not in left]
        done = replace(node, left=_push(node.left, left), right=_push(node.right, []))
        return _filtered(done, stay)
    inputs = [_push(source, []) for source in node.inputs()]
    return _filtered(node.with_inputs(inputs) if inputs else node, parts)


def _reads_keys(node: Aggregate, part: Expr) -> bool:
    """Tell whether a condition is on the keys only: it keeps or drops whole groups."""
    columns = part.inputs()
    return bool(columns) and max(columns) < len(node.keys) and is_pure(part)


def _is_cheap(node: Project, part: Expr) -> bool:
    return all(
        isinstance(node.exprs[i], InputRef) or len(list(node.exprs[i].walk())) < 8
        for i in part.inputs()
    )


def _filtered(node: Node, parts: list[Expr]) -> Node:
    condition = conjunction(parts)
    return node if condition is None else Filter(node.schema, node, condition)


def _push_join(node: Join, parts: list[Expr]) -> Node:
    width = len(node.left.schema.fields)
    own = conjuncts(node.condition)
    to_left: list[Expr] = []
    to_right: list[Expr] = []
    above: list[Expr] = []
    kept: list[Expr] = []
    for part in parts:
        columns = part.inputs()
        if not is_pure(part):
            above.append(part)
        elif columns and max(columns) < width and node.kind in ("inner", "left", "semi", "anti"):
            to_left.append(part)
        elif columns and min(columns) >= width and node.kind in ("inner", "right"):
            to_right.append(part.shifted(lambda i: i - width))
        elif node.kind == "inner":
            kept.append(part)
        else:
            above.append(part)
    for part in own:
        columns = part.inputs()
        if not is_pure(part) or not columns or node.null_aware:
            kept.append(part)
        elif max(columns) < width and node.kind in ("inner", "right", "semi"):
            to_left.append(part)
        elif min(columns) >= width and node.kind in ("inner", "left", "semi", "anti"):
            to_right.append(part.shifted(lambda i: i - width))
        else:
            kept.append(part)
    done = replace(
        node,
        left=_push(node.left, to_left),
        right=_push(node.right, to_right),
        condition=conjunction(kept),
    )
    return _filtered(done, above)
