"""The catalog of built-in functions: finds a function and checks how it is called.

For the binder:

* `resolve(name, args)` gives a typed expression. `args` are typed expressions; implicit casts are
  put around them. Operators have their SQL text as names (`+`, `=`, `AND`, `IS NOT NULL`,
  `NOT LIKE`, `BETWEEN`, `IN`, `||`, `ITEM` for `a[i]`); unary minus is `NEGATE`. Names are not
  case sensitive.
* Keywords among the arguments are `expressions.symbol(...)`: `EXTRACT(YEAR FROM d)` is
  `resolve("EXTRACT", (symbol("YEAR"), d))`, `FLOOR(ts TO DAY)` is
  `resolve("FLOOR", (ts, symbol("DAY")))`.
* `resolve_aggregate(name, args, distinct, filter)` gives an `AggregateCall`; COUNT(*) has no
  arguments. Ranks, LAG and LEAD (`Aggregate.over_only`) are for OVER only.
* An unknown name and arguments of wrong types raise `FunctionError`; it has no place in the query,
  which the caller knows.
* `is_known(name)`, `is_aggregate(name)` tell before resolving.

>>> from penstock.graph.relational.expressions import InputRef
>>> from penstock.graph.relational.types import BIGINT, INT
>>> call = resolve("=", (InputRef(0, INT, "a"), InputRef(1, BIGINT.not_null(), "b")))
>>> str(call), call.type.as_summary_string()
('(CAST(a AS BIGINT) = b)', 'BOOLEAN')
>>> call = resolve_aggregate("avg", (InputRef(0, INT, "a"),), distinct=True)
>>> str(call), call.type.as_summary_string()
('AVG(DISTINCT a)', 'INT')
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from penstock.errors import FunctionError
from penstock.graph.relational.expressions import AggregateCall, Expr
from penstock.graph.relational.functions import (
    aggregates,
    arithmetic,
    bitmap,
    collection,
    comparison,
    conditional,
    hashing,
    json,
    logical,
    strings,
    temporal,
)
from penstock.graph.relational.functions.aggregate_function import Aggregate
from penstock.graph.relational.functions.function import Function, Rewrite

SCALAR_FAMILIES = {
    "comparison": comparison.FUNCTIONS,
    "logical": logical.FUNCTIONS,
    "arithmetic": arithmetic.FUNCTIONS,
    "string": strings.FUNCTIONS,
    "temporal": temporal.FUNCTIONS,
    "conditional": conditional.FUNCTIONS,
    "collection": collection.FUNCTIONS,
    "json": json.FUNCTIONS,
    "hash": hashing.FUNCTIONS,
    "bitmap": bitmap.FUNCTIONS,
}


def _by_name(families: Iterable[list[Function | Rewrite]]) -> dict[str, Function | Rewrite]:
    table: dict[str, Function | Rewrite] = {}
    for family in families:
        for function in family:
            for name in (function.name, *function.aliases):
                if name in table:
                    raise ValueError(f"function {name} stands twice in the catalog")
                table[name] = function
    return table


SCALARS = _by_name(SCALAR_FAMILIES.values())


AGGREGATES: dict[str, Aggregate] = {
    name: function
    for function in aggregates.FUNCTIONS
    for name in (function.name, *function.aliases)
}


def is_aggregate(name: str) -> bool:
    """Return whether there is a built-in aggregate function of that name."""
    return name.upper() in AGGREGATES


def is_known(name: str) -> bool:
    """Return whether there is a built-in scalar function of that name."""
    return name.upper() in SCALARS


def scalar_function(name: str) -> Function:
    """Return the description of the function that a `Call` names."""
    function = SCALARS[name]
    assert isinstance(function, Function)
    return function


def nearest_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names that look like this one."""
    return difflib.get_close_matches(name.upper(), list(known), n=3, cutoff=0.6)


def resolve(name: str, args: Sequence[Expr]) -> Expr:
    """Return the call of a built-in function with these arguments.

    :raises FunctionError: if there is no such function, or it does not take such arguments.
    """
    function = SCALARS.get(name.upper())
    if function is None:
        raise unknown_function(name, SCALARS)
    call = function.resolve(args)
    if call is None:
        raise wrong_arguments(name, args, function.shown_signatures())
    return call


def resolve_aggregate(
    name: str, args: Sequence[Expr], distinct: bool = False, filter: Expr | None = None
) -> AggregateCall:
    """Return the call of a built-in aggregate function with these arguments.

    :raises FunctionError: if there is no such function, or it does not take such arguments.
    """
    function = AGGREGATES.get(name.upper())
    if function is None:
        raise unknown_function(name, AGGREGATES)
    call = function.resolve(args, distinct, filter)
    if call is None:
        raise wrong_arguments(name, args, function.shown_signatures())
    return call


def unknown_function(name: str, known: Iterable[str]) -> FunctionError:
    """Return the error for a name that nothing has."""
    near = nearest_names(name, known)
    todo = f"did you mean {' or '.join(near)}?" if near else "register it, or correct the name"
    return FunctionError(f"there is no function {name}", todo=todo)


def wrong_arguments(name: str, args: Sequence[Expr], forms: Sequence[str]) -> FunctionError:
    """Return the error for arguments that no signature takes."""
    types = ", ".join(arg.type.as_summary_string() for arg in args)
    if len(args) == 2 and not name[0].isalpha():
        left, right = (arg.type.as_summary_string() for arg in args)
        return FunctionError(
            f"{name} does not take values of these types",
            got=f"{left} {name} {right}",
            todo="CAST one of them to a type that goes with the other",
        )
    return FunctionError(
        f"{name} does not take these arguments",
        got=f"{name}({types})",
        todo="call it as " + "\nor as ".join(forms),
    )
