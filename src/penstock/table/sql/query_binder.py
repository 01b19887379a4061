"""From a parsed query to relational nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import (
    Aggregate,
    Node,
    Project,
    SetOperation,
    Sort,
    Union,
    project,
)
from penstock.graph.relational.expressions import Expr, InputRef, SortKey, cast
from penstock.graph.relational.type_rules import common_type
from penstock.table.sql.aggregate_binder import AggregateBinder
from penstock.table.sql.expression_binder import ExpressionBinder
from penstock.table.sql.from_binder import BindContext, FromBinder, bind_values
from penstock.table.sql.over_binder import OverBinder
from penstock.table.sql.scope import Scope, place
from penstock.table.sql.subqueries import apply_filter, apply_scalars


def bind_query(tree: Any, context: BindContext, parent: Scope | None = None) -> Node:
    """Return the nodes of a query.

    :raises ValidationError: if a name, a type or the shape of the query is wrong.
    """
    with_ = tree.args.get("with_")
    if with_ is not None:
        for cte in with_.expressions:
            node = bind_query(cte.this, context, None)
            columns = [column.name for column in cte.args["alias"].columns]
            if columns:
                node = project(node, node.refs(), columns)
            context = context.with_ctes({cte.alias: node})
    if isinstance(tree, exp.Select):
        return _SelectBinder(tree, context, parent).bind()
    if isinstance(tree, exp.SetOperation):
        return _ordered(_set_operation(tree, context, parent), tree, context)
    if isinstance(tree, exp.Subquery):
        return _ordered(bind_query(tree.this, context, parent), tree, context)
    if isinstance(tree, exp.Values):
        return bind_values(tree, context.function)
    if isinstance(tree, exp.Table):
        return FromBinder(context, bind_query, parent)._relation(tree, None)[0]
    raise ValidationError("this is no query", where=place(tree), got=tree.sql())


class _SelectBinder:
    def __init__(self, tree: Any, context: BindContext, parent: Scope | None) -> None:
        self.tree = tree
        self.context = context
        self.parent = parent

    def bind(self) -> Node:
        tree = self.tree
        node, scope = FromBinder(self.context, bind_query, self.parent).bind(tree)
        where = tree.args.get("where")
        if where is not None:
            binder = ExpressionBinder(scope, self.context.function)
            condition = binder.bind(where.this)
            node = apply_filter(node, condition, self.context, scope, bind_query)
        aggregates = AggregateBinder(self.tree, scope, self.context.function)
        if aggregates.is_needed():
            return self._aggregated(node, aggregates)
        return self._plain(node, scope)

    # ---- without aggregates --------------------------------------------------------------------

    def _plain(self, node: Node, scope: Scope) -> Node:
        over = OverBinder(self.tree, scope, self.context.function)
        binder = ExpressionBinder(scope, self.context.function, over.special)
        exprs, names = self._items(binder, scope)
        orders = [] if self._is_distinct() else self._order_items(binder, exprs, names)
        node, changed = over.put_below(node, [*exprs, *(key.operand for key in orders)])
        node, changed = apply_scalars(node, changed, self.context, scope, bind_query)
        return self._finish(node, changed[: len(exprs)], names, orders, changed[len(exprs) :])

    # ---- with aggregates -----------------------------------------------------------------------

    def _aggregated(self, node: Node, aggregates: AggregateBinder) -> Node:
        over = OverBinder(self.tree, aggregates.scope, self.context.function)
        over.inner_special = aggregates.special

        def special(tree: Any, binder: ExpressionBinder) -> Expr | None:
            return over.special(tree, binder) or aggregates.special(tree, binder)

        aggregates.bind_keys()
        binder = ExpressionBinder(aggregates.scope, self.context.function, special)
        exprs, names = self._items(binder, aggregates.scope)
        having = self.tree.args.get("having")
        condition = None if having is None else binder.bind(having.this)
        orders = [] if self._is_distinct() else self._order_items(binder, exprs, names)
        node, rewrite = aggregates.put_below(node)
        if condition is not None:
            filtered = rewrite(condition)
            node = apply_filter(node, filtered, self.context, Scope.of(node), bind_query)
        over.rewrite(rewrite)
        outer = [rewrite(expr) for expr in [*exprs, *(key.operand for key in orders)]]
        node, changed = over.put_below(node, outer)
        node, changed = apply_scalars(node, changed, self.context, Scope.of(node), bind_query)
        return self._finish(node, changed[: len(exprs)], names, orders, changed[len(exprs) :])

    # ---- shared --------------------------------------------------------------------------------

    def _items(self, binder: ExpressionBinder, scope: Scope) -> tuple[list[Expr], list[str]]:
        exprs: list[Expr] = []
        names: list[str] = []
        for item in self.tree.expressions:
            if isinstance(item, exp.Star) or (
                isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
            ):
                table = item.args["table"].name if isinstance(item, exp.Column) else None
                refs = scope.star(table, item)
                exprs += refs
                names += [ref.name for ref in refs]
                continue
            body = item.this if isinstance(item, exp.Alias) else item
            exprs.append(binder.bind(body))
            names.append(item.alias or _own_name(body) or f"EXPR${len(exprs) - 1}")
        return exprs, unique_names(names)

    def _is_distinct(self) -> bool:
        return self.tree.args.get("distinct") is not None

    def _order_items(
        self, binder: ExpressionBinder, exprs: list[Expr], names: list[str]
    ) -> list[SortKey]:
        order = self.tree.args.get("order")
        if order is None:
            return []
        return [_sort_key(item, binder, exprs, names) for item in order.expressions]

    def _finish(
        self, node: Node, exprs: list[Expr], names: list[str], orders: Sequence[SortKey],
        order_exprs: list[Expr],
    ) -> Node:  # fmt: skip
        tree = self.tree
        if self._is_distinct():
            return _ordered(distinct(project(node, exprs, names)), tree, self.context)
        offset, fetch = _limits(tree)
        if not orders:
            return _limited(project(node, exprs, names), (), offset, fetch)
        extra = [e for e in order_exprs if e not in exprs]
        all_names = unique_names([*names, *(f"$order{i}" for i in range(len(extra)))])
        wide = project(node, [*exprs, *extra], all_names)
        columns = [*exprs, *extra]
        keys = tuple(
            SortKey(wide.ref(columns.index(e)), key.descending, key.nulls_first)
            for key, e in zip(orders, order_exprs, strict=True)
        )
        done = _limited(wide, keys, offset, fetch)
        return project(done, done.refs()[: len(exprs)], names) if extra else done


def _own_name(tree: Any) -> str | None:
    if isinstance(tree, exp.Column):
        return str(tree.name)
    if isinstance(tree, exp.Dot) and isinstance(tree.expression, exp.Identifier):
        return str(tree.expression.name)
    return None


def unique_names(names: Sequence[str]) -> list[str]:
    """Return the names with a number behind those that were there before."""
    seen: set[str] = set()
    result = []
    for name in names:
        candidate, number = name, 0
        while candidate in seen:
            candidate, number = f"{name}{number}", number + 1
        seen.add(candidate)
        result.append(candidate)
    return result


def _sort_key(item: Any, binder: ExpressionBinder, exprs: list[Expr], names: list[str]) -> SortKey:
    tree = item.this
    descending = bool(item.args.get("desc"))
    nulls_first = bool(item.args.get("nulls_first"))
    if isinstance(tree, exp.Literal) and not tree.is_string:
        position = int(tree.this)
        if not 1 <= position <= len(exprs):
            raise ValidationError(
                f"ORDER BY {position}: the query has {len(exprs)} columns", where=place(tree)
            )
        return SortKey(exprs[position - 1], descending, nulls_first)
    if isinstance(tree, exp.Column) and not tree.args.get("table") and tree.name in names:
        return SortKey(exprs[names.index(tree.name)], descending, nulls_first)
    return SortKey(binder.bind(tree), descending, nulls_first)


def distinct(node: Node) -> Node:
    """Return each row once."""
    fields = tuple(t.RowField(c.name, plain_type(c.type)) for c in node.schema.fields)
    keys = tuple(range(len(fields)))
    return Aggregate(t.RowType(fields, is_nullable=False), node, keys, ())


def plain_type(kind: t.LogicalType) -> t.LogicalType:
    """Return the type without being a time attribute."""
    if isinstance(kind, t.PointInTimeType) and kind.is_attribute:
        return kind.as_attribute(t.TimeAttribute.NONE)
    return kind


def _limits(tree: Any) -> tuple[int, int | None]:
    def number(node: Any) -> int | None:
        if node is None:
            return None
        inner = node.args.get("count") or node.args.get("expression") or node.this
        if isinstance(inner, exp.Literal):
            return int(inner.this)
        raise ValidationError("LIMIT and OFFSET need a number", where=place(node), got=node.sql())

    return number(tree.args.get("offset")) or 0, number(tree.args.get("limit"))


def _limited(node: Node, keys: tuple[SortKey, ...], offset: int, fetch: int | None) -> Node:
    if not keys and not offset and fetch is None:
        return node
    return Sort(node.schema, node, keys, offset, fetch)


def _ordered(node: Node, tree: Any, context: BindContext) -> Node:
    """Put ORDER BY and LIMIT of a whole query behind its node."""
    order = tree.args.get("order")
    keys: tuple[SortKey, ...] = ()
    if order is not None:
        binder = ExpressionBinder(Scope.of(node), context.function)
        found = [_sort_key(item, binder, list(node.refs()), node.names())
                 for item in order.expressions]  # fmt: skip
        if all(isinstance(key.operand, InputRef) for key in found):
            keys = tuple(found)
        else:
            extra = [key.operand for key in found if not isinstance(key.operand, InputRef)]
            names = [*node.names(), *(f"$order{i}" for i in range(len(extra)))]
            wide = project(node, [*node.refs(), *extra], names)
            keys = tuple(
                SortKey(
                    key.operand if isinstance(key.operand, InputRef)
                    else wide.ref(len(node.refs()) + extra.index(key.operand)),
                    key.descending, key.nulls_first,
                )
                for key in found
            )  # fmt: skip
            done = _limited(wide, keys, *_limits(tree))
            return project(done, done.refs()[: len(node.refs())], node.names())
    return _limited(node, keys, *_limits(tree))


def _set_operation(tree: Any, context: BindContext, parent: Scope | None) -> Node:
    left = bind_query(tree.this, context, parent)
    right = bind_query(tree.expression, context, parent)
    keeps_all = tree.args.get("distinct") is False
    kind = {exp.Union: "union", exp.Intersect: "intersect", exp.Except: "except"}[type(tree)]
    return set_operation(left, right, kind, keeps_all, place(tree))


def set_operation(
    left: Node, right: Node, kind: str, keeps_all: bool, where: str | None = None
) -> Node:
    """Return UNION, INTERSECT or EXCEPT of two nodes, cast to their common types."""
    left, right = _aligned(left, right, kind, where)
    schema = left.schema
    if kind == "union":
        sources = [
            part
            for node in (left, right)
            for part in (node.sources if isinstance(node, Union) else (node,))
        ]
        united = Union(schema, tuple(sources))
        return united if keeps_all else distinct(united)
    return SetOperation(schema, left, right, kind, keeps_all)


def _aligned(left: Node, right: Node, kind: str, where: str | None) -> tuple[Node, Node]:
    a, b = left.schema.fields, right.schema.fields
    if len(a) != len(b):
        raise ValidationError(
            f"both sides of {kind.upper()} must have the same number of columns",
            where=where,
            got=f"{len(a)} and {len(b)} columns",
            todo="select the same columns on both sides",
        )
    kinds = []
    for x, y in zip(a, b, strict=True):
        same = plain_type(x.type).nullable() == plain_type(y.type).nullable()
        shared = common_type([x.type, y.type])
        if same:
            keeps = x.type if x.type.nullable() == y.type.nullable() else plain_type(x.type)
            shared = keeps.with_nullability(x.type.is_nullable or y.type.is_nullable)
        if shared is None:
            raise ValidationError(
                f"the sides of {kind.upper()} differ in the type of column {x.name!r}",
                where=where,
                got=f"{x.type.as_summary_string()} and {y.type.as_summary_string()}",
                todo="cast one of them",
            )
        kinds.append(shared)
    names = left.names()
    fields = tuple(t.RowField(n, k) for n, k in zip(names, kinds, strict=True))
    schema = t.RowType(fields, is_nullable=False)

    def fit(node: Node) -> Node:
        exprs = [
            ref if plain_type(ref.type).nullable() == plain_type(k).nullable() else cast(ref, k)
            for ref, k in zip(node.refs(), kinds, strict=True)
        ]
        return (
            node
            if exprs == node.refs() and node.schema == schema
            else Project(schema, node, tuple(exprs))
        )

    return fit(left), fit(right)
