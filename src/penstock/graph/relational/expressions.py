"""Typed expressions: what a query computes from a row, after names have been resolved.

Nodes are frozen, hashable and picklable; `str` of a node is SQL-like text for plans. The binder
makes calls through `functions.catalog.resolve`, which checks arguments and finds the type; it
makes the other nodes itself:

* `InputRef(index, type, name)`: a column of the input row.
* `Literal(value, type)`: a constant, in the representation of `types`.
* `cast(operand, type)`, `try_cast`: nothing if the operand has that type already.
* `Case`, `In`, `FieldAccess` have no function of their own; `case` finds the common type.
* `AggregateCall` and `OverCall` are data for operators; they do not occur inside other nodes.

>>> from penstock.graph.relational.types import INT, STRING
>>> a = InputRef(0, INT, "a")
>>> str(Call("+", (a, Literal(1, INT.not_null())), INT))
'(a + 1)'
>>> str(cast(a, STRING))
'CAST(a AS STRING)'
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from penstock.graph.relational.type_rules import common_type
from penstock.graph.relational.types import (
    BOOLEAN,
    SYMBOL,
    BooleanType,
    IntervalType,
    LogicalType,
    NullType,
    RowType,
    YearMonthIntervalType,
)

if TYPE_CHECKING:
    from penstock.graph.relational.user_functions import UserFunction


class Expr:
    """Base of all nodes. Every node has a `type`, that of its value."""

    type: LogicalType

    def __hash__(self) -> int:
        # Trees are looked up often while code is generated: each node is hashed once.
        found: int | None = self.__dict__.get("_hash")
        if found is None:
            names = (f.name for f in fields(self) if f.compare)  # type: ignore[arg-type]
            found = hash((type(self).__name__, *(getattr(self, name) for name in names)))
            object.__setattr__(self, "_hash", found)
        return found

    def __getstate__(self) -> dict[str, Any]:
        # Texts hash differently in another process.
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    def children(self) -> tuple[Expr, ...]:
        """Return the nodes directly below, in the order of evaluation."""
        return ()

    def with_children(self, children: Sequence[Expr]) -> Expr:
        """Return the same node over other children, of the same types."""
        return self

    def walk(self) -> Iterator[Expr]:
        """Iterate over this node and all nodes below."""
        yield self
        for child in self.children():
            yield from child.walk()

    def transform(self, change: Callable[[Expr], Expr | None]) -> Expr:
        """Return the tree with `change` applied from the leaves up; None leaves a node alone."""
        children = self.children()
        changed = [child.transform(change) for child in children]
        same = all(a is b for a, b in zip(children, changed, strict=True))
        node = self if same else self.with_children(changed)
        result = change(node)
        return node if result is None else result

    def inputs(self) -> set[int]:
        """Return the positions of the input columns that are read."""
        return {node.index for node in self.walk() if isinstance(node, InputRef)}

    def shifted(self, mapping: Callable[[int], int]) -> Expr:
        """Return the tree over other positions of the input's columns."""

        def change(node: Expr) -> Expr | None:
            return replace(node, index=mapping(node.index)) if isinstance(node, InputRef) else None

        return self.transform(change)


@dataclass(frozen=True)
class InputRef(Expr):
    """A column of the input, by position. The name is for texts and not part of equality."""

    __hash__ = Expr.__hash__

    index: int
    type: LogicalType
    name: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.name or f"${self.index}"


@dataclass(frozen=True)
class Literal(Expr):
    """A constant. Collections are calls of ARRAY, MAP and ROW, so values are hashable."""

    value: Any
    type: LogicalType

    def __eq__(self, other: object) -> bool:
        # 1, 1.0, True and Decimal(1) are equal in Python; 0.0 and -0.0 too. Types tell them apart.
        return (
            isinstance(other, Literal)
            and self.type == other.type
            and repr(self.value) == repr(other.value)
        )

    def __hash__(self) -> int:
        return hash((self.type, repr(self.value)))

    def __str__(self) -> str:
        return show_literal(self.value, self.type)


@dataclass(frozen=True)
class Call(Expr):
    """A call of a built-in function or operator, by its name in the catalog."""

    __hash__ = Expr.__hash__

    function: str
    args: tuple[Expr, ...]
    type: LogicalType

    def children(self) -> tuple[Expr, ...]:
        return self.args

    def with_children(self, children: Sequence[Expr]) -> Expr:
        return replace(self, args=tuple(children))

    def __str__(self) -> str:
        return show_call(self.function, self.args)


@dataclass(frozen=True)
class UdfCall(Expr):
    """A call of a scalar function of the user."""

    __hash__ = Expr.__hash__

    function: UserFunction
    args: tuple[Expr, ...]
    type: LogicalType

    def children(self) -> tuple[Expr, ...]:
        return self.args

    def with_children(self, children: Sequence[Expr]) -> Expr:
        return replace(self, args=tuple(children))

    def __str__(self) -> str:
        return f"{self.function.name}({', '.join(map(str, self.args))})"


@dataclass(frozen=True)
class Cast(Expr):
    """A conversion. One that fails is an error, or NULL if `is_try`."""

    __hash__ = Expr.__hash__

    operand: Expr
    type: LogicalType
    is_try: bool = False

    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def with_children(self, children: Sequence[Expr]) -> Expr:
        return replace(self, operand=children[0])

    def __str__(self) -> str:
        word = "TRY_CAST" if self.is_try else "CAST"
        return f"{word}({self.operand} AS {self.type.nullable()})"


@dataclass(frozen=True)
class Case(Expr):
    """The value of the first branch whose condition is TRUE, else the default."""

    __hash__ = Expr.__hash__

    branches: tuple[tuple[Expr, Expr], ...]
    default: Expr
    type: LogicalType

    def children(self) -> tuple[Expr, ...]:
        return (*(node for branch in self.branches for node in branch), self.default)

    def with_children(self, children: Sequence[Expr]) -> Expr:
        pairs = tuple(zip(children[:-1:2], children[1:-1:2], strict=True))
        return replace(self, branches=pairs, default=children[-1])

    def __str__(self) -> str:
        whens = " ".join(f"WHEN {when} THEN {then}" for when, then in self.branches)
        return f"CASE {whens} ELSE {self.default} END"


@dataclass(frozen=True)
class In(Expr):
    """Whether a value equals one of some others, all of its type; three-valued."""

    __hash__ = Expr.__hash__

    operand: Expr
    options: tuple[Expr, ...]
    negated: bool = False
    type: LogicalType = field(init=False, compare=False)

    def __post_init__(self) -> None:
        nullable = any(node.type.is_nullable for node in (self.operand, *self.options))
        object.__setattr__(self, "type", BOOLEAN.with_nullability(nullable))

    def children(self) -> tuple[Expr, ...]:
        return (self.operand, *self.options)

    def with_children(self, children: Sequence[Expr]) -> Expr:
        return replace(self, operand=children[0], options=tuple(children[1:]))

    def __str__(self) -> str:
        word = "NOT IN" if self.negated else "IN"
        return f"{self.operand} {word} ({', '.join(map(str, self.options))})"


@dataclass(frozen=True)
class FieldAccess(Expr):
    """A field of a ROW, by position; NULL if the row is."""

    __hash__ = Expr.__hash__

    operand: Expr
    index: int
    type: LogicalType = field(init=False, compare=False)

    def __post_init__(self) -> None:
        row = self.operand.type
        assert isinstance(row, RowType)
        inner = row.fields[self.index].type
        nullable = inner.is_nullable or row.is_nullable
        object.__setattr__(self, "type", inner.with_nullability(nullable))

    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def with_children(self, children: Sequence[Expr]) -> Expr:
        return replace(self, operand=children[0])

    def __str__(self) -> str:
        row = self.operand.type
        assert isinstance(row, RowType)
        return f"{self.operand}.{row.fields[self.index].name}"


@dataclass(frozen=True)
class SortKey:
    """A column to sort by."""

    operand: Expr
    descending: bool = False
    nulls_first: bool = True

    def __str__(self) -> str:
        default = not self.descending
        nulls = (
            "" if self.nulls_first is default else " NULLS " + ("LAST", "FIRST")[default is False]
        )
        return f"{self.operand} {'DESC' if self.descending else 'ASC'}{nulls}"


@dataclass(frozen=True)
class AggregateCall:
    """A call of an aggregate function over the rows of a group.

    :param function: the built-in's name, or the user's function.
    :param filter: rows for which this is not TRUE are left out.
    """

    function: str | UserFunction
    args: tuple[Expr, ...]
    type: LogicalType
    distinct: bool = False
    filter: Expr | None = None
    order_by: tuple[SortKey, ...] = ()

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function if isinstance(self.function, str) else self.function.name

    def inputs(self) -> set[int]:
        """Return the columns that the call reads."""
        exprs = [*self.args, *([self.filter] if self.filter is not None else [])]
        exprs += [key.operand for key in self.order_by]
        return {i for expr in exprs for i in expr.inputs()}

    def map(self, change: Callable[[Expr], Expr]) -> AggregateCall:
        """Return the call with `change` applied to arguments and filter."""
        kept = None if self.filter is None else change(self.filter)
        order = tuple(replace(key, operand=change(key.operand)) for key in self.order_by)
        return replace(self, args=tuple(map(change, self.args)), filter=kept, order_by=order)

    def __str__(self) -> str:
        args = ", ".join(map(str, self.args)) or ("*" if self.name == "COUNT" else "")
        text = f"{self.name}({'DISTINCT ' if self.distinct else ''}{args})"
        return text if self.filter is None else f"{text} FILTER (WHERE {self.filter})"


@dataclass(frozen=True)
class Frame:
    """The rows around the current one that an OVER aggregate sees.

    :param unit: `ROWS` or `RANGE`.
    :param preceding: how far back: a number of rows, a `timedelta` or a number; None is all.
    :param following: how far ahead; 0 is the current row, None is all.
    """

    unit: str = "RANGE"
    preceding: Any = None
    following: Any = 0

    def __str__(self) -> str:
        low = "UNBOUNDED PRECEDING" if self.preceding is None else f"{self.preceding} PRECEDING"
        high = "UNBOUNDED FOLLOWING" if self.following is None else f"{self.following} FOLLOWING"
        low = "CURRENT ROW" if self.preceding == 0 else low
        high = "CURRENT ROW" if self.following == 0 else high
        return f"{self.unit} BETWEEN {low} AND {high}"


@dataclass(frozen=True)
class OverCall:
    """An aggregate over the rows around each row."""

    aggregate: AggregateCall
    partition_by: tuple[Expr, ...] = ()
    order_by: tuple[SortKey, ...] = ()
    frame: Frame = Frame()

    @property
    def type(self) -> LogicalType:
        """The type of the value."""
        return self.aggregate.type

    def __str__(self) -> str:
        parts = []
        if self.partition_by:
            parts.append("PARTITION BY " + ", ".join(map(str, self.partition_by)))
        if self.order_by:
            parts.append("ORDER BY " + ", ".join(map(str, self.order_by)))
        parts.append(str(self.frame))
        return f"{self.aggregate} OVER ({' '.join(parts)})"


def symbol(word: str) -> Literal:
    """Return a keyword as an argument: `symbol("DAY")`."""
    return Literal(word, SYMBOL)


def cast(operand: Expr, target: LogicalType) -> Expr:
    """Return the operand as a value of the target type; the operand's nullability is kept."""
    wanted = target.with_nullability(operand.type.is_nullable)
    if operand.type == wanted:
        return operand
    if isinstance(operand, Literal) and operand.value is None:
        return Literal(None, target.nullable())
    return Cast(operand, wanted)


def try_cast(operand: Expr, target: LogicalType) -> Expr:
    """Return the operand as a value of the target type, or NULL where it cannot be one."""
    if operand.type.nullable() == target.nullable():
        return operand
    return Cast(operand, target.nullable(), is_try=True)


def case(branches: Sequence[tuple[Expr, Expr]], default: Expr | None = None) -> Case | None:
    """Return a CASE with all its values cast to their common type; None if there is none."""
    last = Literal(None, NullType()) if default is None else default
    result = common_type([*(then.type for _, then in branches), last.type])
    if result is None or not all(
        isinstance(when.type, BooleanType | NullType) for when, _ in branches
    ):
        return None
    cases = tuple((cast(when, BOOLEAN), cast(then, result)) for when, then in branches)
    return Case(cases, cast(last, result), result)


_INFIX = {
    *("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||", "AND", "OR"),
    *("LIKE", "NOT LIKE", "SIMILAR TO", "NOT SIMILAR TO"),
    *("IS DISTINCT FROM", "IS NOT DISTINCT FROM", "OVERLAPS"),
}


def show_call(function: str, args: Sequence[Expr]) -> str:
    """Return a call as SQL-like text."""
    texts = [str(arg) for arg in args]
    if function in _INFIX and len(texts) >= 2:
        return "(" + f" {function} ".join(texts) + ")"
    if function.startswith("IS ") and len(texts) == 1:
        return f"{texts[0]} {function}"
    if function in ("NOT", "NEGATE"):
        return f"(-{texts[0]})" if function == "NEGATE" else f"NOT {texts[0]}"
    if function == "ITEM":
        return f"{texts[0]}[{texts[1]}]"
    if function in ("ARRAY", "MAP"):
        return f"{function}[{', '.join(texts)}]"
    return f"{function}({', '.join(texts)})"


def show_literal(value: Any, t: LogicalType) -> str:
    """Return a constant as SQL text."""
    if value is None:
        return "NULL" if isinstance(t, NullType) else f"CAST(NULL AS {t.nullable()})"
    if t == SYMBOL:
        return str(value)
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(t, IntervalType):
        return f"{value} MONTH" if isinstance(t, YearMonthIntervalType) else f"INTERVAL '{value}'"
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return f"{t.name().partition('(')[0]} '{value}'"
    return format(value, "f") if isinstance(value, Decimal) else str(value)
