"""OVER: aggregates over the rows around each row of a SELECT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import Node, Over
from penstock.graph.relational.expressions import (
    Expr,
    Frame,
    Literal,
    OverCall,
    SortKey,
)
from penstock.table.sql.aggregate_calls import bind_aggregate
from penstock.table.sql.expression_binder import ExpressionBinder
from penstock.table.sql.scope import Scope, place

_NUMBERING = ("ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE", "CUME_DIST", "PERCENT_RANK",
              "LAG", "LEAD")  # fmt: skip


@dataclass(frozen=True)
class OverColumn(Expr):
    """The result of an OVER call, by its number."""

    index: int
    type: t.LogicalType
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.text


class OverBinder:
    """Find the OVER calls of a SELECT and put the node that computes them below it."""

    def __init__(self, tree: Any, scope: Scope, functions: Callable[[str], Any]) -> None:
        self.scope = scope
        self.functions = functions
        self.calls: list[OverCall] = []
        self.inner_special: Callable[[Any, ExpressionBinder], Expr | None] | None = None
        self._windows = {window.this.name: window for window in tree.args.get("windows") or ()}

    def special(self, tree: Any, binder: ExpressionBinder) -> Expr | None:
        """Return a placeholder for an OVER call."""
        if not isinstance(tree, exp.Window):
            return None
        window = self._resolved(tree)
        inner = ExpressionBinder(self.scope, self.functions, self.inner_special)
        condition, call = None, tree.this
        if isinstance(call, exp.Filter):
            condition, call = call.expression.this, call.this
        name = str(call.this if isinstance(call.this, str) else call.this.name)
        aggregate = bind_aggregate(name, call, condition, inner, self.functions)
        partition = tuple(inner.bind(item) for item in window.args.get("partition_by") or ())
        order = window.args.get("order")
        keys = tuple(
            SortKey(
                inner.bind(item.this), bool(item.args.get("desc")),
                bool(item.args.get("nulls_first")),
            )
            for item in (order.expressions if order is not None else ())
        )  # fmt: skip
        frame = self._frame(window, name.upper(), bool(keys), inner)
        bound = OverCall(aggregate, partition, keys, frame)
        if bound not in self.calls:
            self.calls.append(bound)
        return OverColumn(self.calls.index(bound), bound.type, str(bound))

    def _resolved(self, tree: Any) -> Any:
        alias = tree.args.get("alias")
        if alias is None:
            return tree
        window = self._windows.get(alias.name)
        if window is None:
            raise ValidationError(
                f"there is no window {alias.name!r}",
                where=place(tree),
                todo="define it in a WINDOW clause behind the query",
            )
        return window

    def _frame(self, tree: Any, name: str, ordered: bool, binder: ExpressionBinder) -> Frame:
        spec = tree.args.get("spec")
        if spec is None:
            if name in _NUMBERING:
                return Frame("ROWS", None, 0)
            return Frame("RANGE", None, 0) if ordered else Frame("RANGE", None, None)
        return Frame(
            str(spec.args.get("kind") or "RANGE").upper(),
            self._bound(spec.args.get("start"), spec.args.get("start_side"), binder),
            self._bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), binder),
        )

    def _bound(self, value: Any, side: Any, binder: ExpressionBinder) -> Any:
        if value == "CURRENT ROW":
            return 0
        if value == "UNBOUNDED" or value is None:
            return None
        bound = binder.bind(value)
        if not isinstance(bound, Literal):
            raise ValidationError("the bounds of a frame are constants", got=str(bound))
        return bound.value

    def rewrite(self, change: Callable[[Expr], Expr]) -> None:
        """Apply a change to what the calls read: they stand above an aggregate."""
        self.calls = [
            OverCall(
                call.aggregate.map(change),
                tuple(map(change, call.partition_by)),
                tuple(replace(key, operand=change(key.operand)) for key in call.order_by),
                call.frame,
            )
            for call in self.calls
        ]

    def put_below(self, node: Node, exprs: list[Expr]) -> tuple[Node, list[Expr]]:
        """Return the node with the calls' columns behind its own, and expressions over it."""
        if not self.calls:
            return node, exprs
        width = len(node.schema.fields)
        fields = tuple(t.RowField(f"w{i}$o", call.type) for i, call in enumerate(self.calls))
        over = Over(
            t.RowType((*node.schema.fields, *fields), is_nullable=False), node, tuple(self.calls)
        )

        def change(leaf: Expr) -> Expr | None:
            return over.ref(width + leaf.index) if isinstance(leaf, OverColumn) else None

        return over, [expr.transform(change) for expr in exprs]
