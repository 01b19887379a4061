"""Expressions of the Table API as the trees that the SQL parser makes.

Both go through one binder: a method of `Expression` is the call that SQL would have, and a literal
is bound already. Three nodes have no text in SQL:

* `Bound`: a typed expression, which the binder takes as it is,
* `UserCall`: a call of a function that need not be registered; a table registers it under a name
  of its own (`with_named_functions`) before it binds,
* `Modified`: marks that only tables look at: `rowtime`, `start`, `flatten`, `rows`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from sqlglot import exp

from penstock.common.types import Row
from penstock.errors import ProgramError
from penstock.graph.relational import types as t
from penstock.graph.relational.expressions import Expr, Literal, cast
from penstock.graph.relational.user_functions import UserFunction
from penstock.table.sql.dialect import TypeText


class Bound(exp.Expression):
    """A typed expression inside a tree."""

    arg_types: ClassVar[dict[str, bool]] = {"expr": True}


class UserCall(exp.Expression):
    """A call of a user's function that is given as an object."""

    arg_types: ClassVar[dict[str, bool]] = {"function": True, "expressions": False}


class Modified(exp.Expression):
    """A mark on an expression that has no counterpart in SQL; `this` is what it is on.

    `mark` is one of `rowtime`, `proctime`, `start`, `end`, `flatten`, `alias` (with names in
    `values`), `in_table` (the table in `values`), `rows`, `range`, `with_columns`,
    `without_columns` and `over` (the window's alias in `values`).
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "mark": True, "values": False}


def with_named_functions(tree: Any, name_of: Callable[[UserFunction], str]) -> Any:
    """Return a tree with calls of given functions turned into calls by name.

    :param name_of: registers a function under a name that nobody else uses, and returns it.
    """

    def change(node: Any) -> Any:
        if isinstance(node, UserCall):
            return call(name_of(node.args["function"]), *node.expressions)
        return node

    return tree.transform(change)


def call(name: str, *args: Any) -> Any:
    """Return the tree of a call; arguments are trees."""
    return exp.Anonymous(this=name, expressions=list(args))


def bound(expr: Expr) -> Any:
    """Return the tree of a typed expression."""
    return Bound(expr=expr)


def column(name: str) -> Any:
    """Return the tree of a column; a name with dots means fields of rows, `*` all columns."""
    if name == "*":
        return exp.Star()
    parts = [exp.to_identifier(part, quoted=True) for part in name.split(".")]
    tree: Any = exp.Column(this=parts[0])
    for part in parts[1:]:
        tree = exp.Dot(this=tree, expression=part)
    return tree


def literal(value: Any, data_type: t.LogicalType | None = None) -> Any:
    """Return the tree of a Python value.

    :raises ProgramError: if it has no type of its own and none is given.
    """
    if isinstance(value, list):
        tree = call("ARRAY", *(literal(item) for item in value))
    elif isinstance(value, dict):
        tree = call("MAP", *(literal(item) for pair in value.items() for item in pair))
    elif isinstance(value, Row | tuple):
        tree = call("ROW", *(literal(item) for item in value))
    else:
        made = typed_literal(value)
        return bound(made if data_type is None else _as(made, data_type))
    return tree if data_type is None else cast_tree(tree, data_type)


def _as(made: Literal, data_type: t.LogicalType) -> Expr:
    if made.value is None:
        return Literal(None, data_type.nullable())
    return cast(made, data_type.not_null())


def cast_tree(tree: Any, data_type: t.LogicalType, attempt: bool = False) -> Any:
    """Return the tree of a CAST."""
    to = TypeText(this=data_type.nullable().as_summary_string())
    return (exp.TryCast if attempt else exp.Cast)(this=tree, to=to)


def typed_literal(value: Any) -> Literal:
    """Return a Python value as a constant: 1 is INT, 2**40 BIGINT, 1.5 DOUBLE, 'ab' CHAR(2)."""
    if value is None:
        return Literal(None, t.NullType())
    found = _literal_type(value)
    if found is None:
        raise ProgramError(
            f"a {type(value).__name__} is no literal",
            got=repr(value)[:100],
            todo="pass an expression, or a number, text, time, list, dict or Row",
        )
    return Literal(bytes(value) if isinstance(value, bytearray) else value, found.not_null())


def _literal_type(value: Any) -> t.LogicalType | None:
    if isinstance(value, bool):
        return t.BOOLEAN
    if isinstance(value, int):
        if -(2**31) <= value < 2**31:
            return t.INT
        return t.BIGINT if -(2**63) <= value < 2**63 else t.DecimalType(len(str(abs(value))), 0)
    if isinstance(value, Decimal):
        exponent = int(value.as_tuple().exponent)
        digits = len(value.as_tuple().digits)
        return t.DecimalType(max(digits, -exponent, digits + max(exponent, 0)), max(-exponent, 0))
    if isinstance(value, str):
        return t.CharType(len(value))
    if isinstance(value, bytes | bytearray):
        return t.BinaryType(len(value))
    if isinstance(value, datetime.datetime):
        digits = 6 if value.microsecond % 1000 else 3 if value.microsecond else 0
        return t.TimestampType(digits) if value.tzinfo is None else t.LocalZonedTimestampType(6)
    kinds = {
        float: t.DOUBLE, datetime.date: t.DATE, datetime.time: t.TimeType(0),
        datetime.timedelta: t.DayTimeIntervalType("SECOND", fractional_precision=3),
    }  # fmt: skip
    return next((found for kind, found in kinds.items() if isinstance(value, kind)), None)


_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_LENGTHS = {
    "WEEK": datetime.timedelta(weeks=1), "DAY": datetime.timedelta(days=1),
    "HOUR": datetime.timedelta(hours=1), "MINUTE": datetime.timedelta(minutes=1),
    "SECOND": datetime.timedelta(seconds=1), "MILLI": datetime.timedelta(milliseconds=1),
}  # fmt: skip


def interval(tree: Any, unit: str) -> Any:
    """Return the tree of so many units of time: `lit(10).minutes`."""
    one: Literal
    if unit in _MONTHS:
        one = Literal(_MONTHS[unit], t.YearMonthIntervalType("MONTH", is_nullable=False))
    else:
        kind = t.DayTimeIntervalType("SECOND", fractional_precision=3, is_nullable=False)
        one = Literal(_LENGTHS[unit], kind)
    if isinstance(tree, Bound) and isinstance(tree.args["expr"], Literal):
        count = tree.args["expr"].value
        return bound(Literal(one.value * count, one.type))
    return exp.Mul(this=tree, expression=bound(one))


def modified(mark: str, tree: Any = None, *values: Any) -> Any:
    """Return the tree of a mark."""
    return Modified(this=tree, mark=mark, values=list(values))


def show(tree: Any) -> str:
    """Return a tree as text, for messages."""
    if isinstance(tree, Bound):
        return str(tree.args["expr"])
    if isinstance(tree, UserCall):
        return f"{tree.args['function'].name}({', '.join(map(show, tree.expressions))})"
    if isinstance(tree, Modified):
        inner = "" if tree.this is None else show(tree.this)
        more = [show(v) if isinstance(v, exp.Expression) else str(v) for v in tree.args["values"]]
        return f"{tree.args['mark']}({', '.join([inner, *more] if inner else more)})"
    if isinstance(tree, exp.Anonymous):
        return f"{tree.this}({', '.join(map(show, tree.expressions))})"
    if isinstance(tree, exp.Column | exp.Identifier | exp.Literal):
        return f"'{tree.name}'" if isinstance(tree, exp.Literal) and tree.is_string else tree.name
    if isinstance(tree, exp.Alias):
        return f"{show(tree.this)} AS {tree.alias}"
    if isinstance(tree, exp.Binary):
        return (
            f"({show(tree.this)} {_SIGNS.get(tree.key, tree.key.upper())} {show(tree.expression)})"
        )
    if isinstance(tree, exp.Expression):
        parts = [tree.this, *tree.expressions] if tree.this is not None else tree.expressions
        shown = [show(part) if isinstance(part, exp.Expression) else str(part) for part in parts]
        return f"{tree.key}({', '.join(shown)})"
    return str(tree)


_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "eq": "=", "neq": "<>", "lt": "<",
    "lte": "<=", "gt": ">", "gte": ">=", "dot": ".",
}  # fmt: skip


def user_tree(function: UserFunction, args: Sequence[Any]) -> Any:
    """Return the tree of a call of a user's function."""
    return UserCall(function=function, expressions=list(args))
