"""Calls of aggregate functions, built-in and the user's."""

from __future__ import annotations

from typing import Any

from penstock.errors import FunctionError
from penstock.graph.relational.expressions import AggregateCall, Expr, SortKey, symbol
from penstock.graph.relational.functions import catalog


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
