"""Calls of aggregate functions, built-in and the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from penstock.errors import FunctionError
from penstock.graph.relational.expressions import AggregateCall, Expr, SortKey, symbol
from penstock.graph.relational.functions import catalog
from penstock.table.sql.expression_binder import ExpressionBinder
from penstock.table.sql.scope import place


def is_aggregate(name: str) -> bool:
    """Tell whether a built-in aggregate has this name."""
    return catalog.is_aggregate(name)


def aggregate_call(
    name: str, args: tuple[Expr, ...], distinct: bool, kept: Expr | None, function: Any,
    where: str | None, order: tuple[SortKey, ...] = (), clauses: str | None = None,
) -> AggregateCall:  # fmt: skip
    """Return a checked call."""
    try:
        if function is not None:
            made: AggregateCall = function.aggregate(args, distinct, kept, where)
            return made
        if name.upper().startswith("JSON_"):
            args = (*args, symbol(clauses or ""))
        call = catalog.resolve_aggregate(name, args, distinct, kept)
    except FunctionError as error:
        error.where = error.where or where
        raise
    if order:
        return AggregateCall(call.function, call.args, call.type, distinct, kept, order)
    return call


def bind_aggregate(
    name: str, tree: Any, condition: Any, binder: ExpressionBinder,
    functions: Callable[[str], Any],
) -> AggregateCall:  # fmt: skip
    """Return an aggregate's call over the rows of a scope."""
    distinct = False
    arguments = list(tree.expressions)
    order: tuple[SortKey, ...] = ()
    if len(arguments) == 1 and isinstance(arguments[0], exp.Order):
        keys = arguments[0].expressions
        order = tuple(
            SortKey(binder.bind(k.this), bool(k.args.get("desc")), bool(k.args.get("nulls_first")))
            for k in keys
        )
        arguments = [arguments[0].this]
    if arguments and isinstance(arguments[0], exp.Distinct):
        distinct = True
        arguments = [*arguments[0].expressions, *arguments[1:]]
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        arguments = []
    args = tuple(binder.bind(argument) for argument in arguments)
    kept = None if condition is None else binder.bind(condition)
    clauses = tree.args.get("clauses") if type(tree).__name__ == "JsonCall" else None
    return aggregate_call(
        name, args, distinct, kept, functions(name), place(tree), order,
        " ".join(clauses) if clauses else None,
    )  # fmt: skip
