"""Subqueries in conditions: they become joins.

`EXISTS` and `IN` in a conjunct of a condition are semi joins, with NOT anti joins. A scalar
subquery is joined as one row. Columns of the outer query inside a subquery must stand in its WHERE
clause.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import (
    Aggregate,
    Filter,
    Join,
    Node,
    Project,
    Values,
    project,
)
from penstock.graph.relational.expressions import AggregateCall, Call, Expr, InputRef, cast
from penstock.graph.relational.functions import catalog
from penstock.graph.relational.type_rules import common_type
from penstock.table.sql.expression_binder import Subquery
from penstock.table.sql.from_binder import BindContext
from penstock.table.sql.scope import OuterRef, Scope, place

BindQuery = Callable[[Any, BindContext, Scope | None], Node]


def conjuncts(condition: Expr) -> list[Expr]:
    """Return the parts that a condition joins by AND."""
    if isinstance(condition, Call) and condition.function == "AND":
        return [part for arg in condition.args for part in conjuncts(arg)]
    return [condition]


def conjunction(parts: list[Expr]) -> Expr | None:
    """Return the AND of the parts; None if there are none."""
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else catalog.resolve("AND", tuple(parts))


def apply_filter(
    node: Node, condition: Expr, context: BindContext, scope: Scope, bind_query: BindQuery
) -> Node:
    """Return the rows of a node for which a condition with subqueries is TRUE."""
    width = len(node.schema.fields)
    names = node.names()
    _check_boolean(condition)
    plain = []
    for part in conjuncts(condition):
        negated, body = False, part
        while isinstance(body, Call) and body.function == "NOT":
            negated, body = not negated, body.args[0]
        if isinstance(body, Subquery) and body.kind in ("exists", "in"):
            node = _semi_join(node, body, negated, context, scope, bind_query)
        else:
            plain.append(part)
    node, rewritten = apply_scalars(node, plain, context, scope, bind_query)
    rest = conjunction(rewritten)
    if rest is not None:
        node = Filter(node.schema, node, rest)
    if len(node.schema.fields) > width:
        node = project(node, node.refs()[:width], names)
    return node


def _check_boolean(condition: Expr) -> None:
    if not isinstance(condition.type, t.BooleanType | t.NullType):
        raise ValidationError(
            "a condition must be BOOLEAN",
            got=f"{condition} of type {condition.type.as_summary_string()}",
            todo="compare it with something",
        )


def _semi_join(
    node: Node, subquery: Subquery, negated: bool, context: BindContext, scope: Scope,
    bind_query: BindQuery,
) -> Node:  # fmt: skip
    inner, correlated = _inner(subquery.query, context, scope, bind_query)
    parts: list[Expr] = [_paired(part, len(node.schema.fields)) for part in correlated]
    if subquery.kind == "in":
        operand = subquery.operand
        assert operand is not None
        column = inner.ref(0).shifted(lambda i: i + len(node.schema.fields))
        shared = common_type([operand.type, column.type])
        if shared is None:
            raise ValidationError(
                "IN compares values of different types",
                where=place(subquery.query),
                got=f"{operand.type.as_summary_string()} and {column.type.as_summary_string()}",
                todo="cast one of them",
            )
        parts.insert(0, catalog.resolve("=", (cast(operand, shared), cast(column, shared))))
    kind = "anti" if negated else "semi"
    null_aware = negated and subquery.kind == "in"
    return Join(node.schema, node, inner, kind, conjunction(parts), null_aware)


def _inner(
    tree: Any, context: BindContext, scope: Scope, bind_query: BindQuery
) -> tuple[Node, list[Expr]]:
    """Return a subquery's rows, and what of its WHERE clause speaks of the outer query."""
    node = bind_query(tree, context, scope)
    node, correlated = _pulled(node)
    for each in node.walk():
        for expr in _expressions(each):
            if any(isinstance(leaf, OuterRef) for leaf in expr.walk()):
                raise ValidationError(
                    "a column of the outer query may stand only in the WHERE clause of a subquery",
                    where=place(tree),
                    got=tree.sql(),
                    todo="write the query as a join",
                )
    return node, correlated


def _pulled(node: Node) -> tuple[Node, list[Expr]]:
    """Take the conditions on outer columns out of a subquery, columns that they need added."""
    if isinstance(node, Filter):
        parts = conjuncts(node.condition)
        outer = [p for p in parts if any(isinstance(x, OuterRef) for x in p.walk())]
        if not outer:
            return node, []
        rest = conjunction([p for p in parts if p not in outer])
        inner = node.input if rest is None else Filter(node.schema, node.input, rest)
        return inner, outer
    if isinstance(node, Project):
        inner, outer = _pulled(node.input)
        if not outer:
            return node, []
        needed = sorted({i for part in outer for i in part.inputs()})
        exprs = [*node.exprs, *(inner.ref(i) for i in needed)]
        names = [*node.names(), *(f"$outer{i}" for i in needed)]
        base = len(node.exprs)
        place_of = {index: base + position for position, index in enumerate(needed)}
        moved = [part.shifted(place_of.__getitem__) for part in outer]
        return project(inner, exprs, names), moved
    if isinstance(node, Aggregate) and not node.calls:
        # DISTINCT makes no difference to a semi join.
        return _pulled(node.input)
    return node, []


def _paired(part: Expr, width: int) -> Expr:
    """Return a condition over the outer row followed by the inner one."""

    def change(leaf: Expr) -> Expr | None:
        if isinstance(leaf, OuterRef):
            return InputRef(leaf.index, leaf.type, leaf.name)
        if isinstance(leaf, InputRef):
            return InputRef(leaf.index + width, leaf.type, leaf.name)
        return None

    return part.transform(change)


def _expressions(node: Node) -> list[Expr]:
    found: list[Expr] = []
    for value in vars(node).values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Expr):
                found.append(item)
    return found


def apply_scalars(
    node: Node, exprs: list[Expr], context: BindContext, scope: Scope, bind_query: BindQuery
) -> tuple[Node, list[Expr]]:
    """Join the scalar subqueries of some expressions; return the expressions over the join."""
    found: dict[int, Expr] = {}
    current = node

    def change(leaf: Expr) -> Expr | None:
        nonlocal current
        if not isinstance(leaf, Subquery):
            return None
        if leaf.kind != "scalar":
            raise ValidationError(
                "EXISTS and IN with a subquery may stand only among the parts of an AND in WHERE",
                where=place(leaf.query),
                got=leaf.query.sql(),
                todo="write the query as a join",
            )
        key = id(leaf.query)
        if key not in found:
            inner, correlated = _inner(leaf.query, context, scope, bind_query)
            inner = _single(inner, leaf.query)
            width = len(current.schema.fields)
            condition = conjunction([_paired(part, width) for part in correlated])
            fields = (
                *current.schema.fields,
                *(t.RowField(c.name, c.type.nullable()) for c in inner.schema.fields),
            )
            current = Join(t.RowType(fields, is_nullable=False), current, inner, "left", condition)
            found[key] = current.ref(width)
        return found[key]

    changed = [retyped(expr, change) for expr in exprs]
    return current, changed


def retyped(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Replace leaves whose type was not known; calls above are resolved again."""
    result = change(expr)
    if result is not None:
        return result
    children = expr.children()
    if not children:
        return expr
    changed = [retyped(child, change) for child in children]
    if all(a is b for a, b in zip(children, changed, strict=True)):
        return expr
    if isinstance(expr, Call):
        return catalog.resolve(expr.function, tuple(changed))
    return expr.with_children(changed)


def _single(node: Node, tree: Any) -> Node:
    """Return a subquery of one column so that it gives exactly one row."""
    if len(node.schema.fields) != 1 and not isinstance(tree, exp.Select):
        raise ValidationError("a scalar subquery has one column", where=place(tree))
    base = node
    while isinstance(base, Project):
        base = base.input
    if isinstance(base, Aggregate) and not base.keys:
        return node
    if isinstance(base, Values) and len(base.rows) == 1:
        return node
    kind = node.schema.fields[0].type.nullable()
    call = AggregateCall("SINGLE_VALUE", (node.ref(0),), kind)
    schema = t.RowType((t.RowField(node.names()[0], kind),), is_nullable=False)
    return Aggregate(schema, node, (), (call,))
