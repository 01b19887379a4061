"""Expressions of the Table API: PyFlink's `pyflink.table.expression`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Generic, TypeVar

from sqlglot import exp

from penstock.graph.relational.types import STRING, LogicalType
from penstock.graph.relational.user_functions import UserFunction
from penstock.table.expression_base import tree_of
from penstock.table.expression_collection import CollectionMethods
from penstock.table.expression_math import NumberMethods
from penstock.table.expression_text import TextMethods
from penstock.table.expression_tree import (
    bound,
    call,
    cast_tree,
    interval,
    literal,
    modified,
    show,
    typed_literal,
    user_tree,
)
from penstock.table.sql.dialect import JsonCall

T = TypeVar("T")


class TimeIntervalUnit(Enum):
    """Units for `extract`, `floor` and `ceil`."""

    YEAR = 0
    YEAR_TO_MONTH = 1
    QUARTER = 2
    MONTH = 3
    WEEK = 4
    DAY = 5
    DAY_TO_HOUR = 6
    DAY_TO_MINUTE = 7
    DAY_TO_SECOND = 8
    HOUR = 9
    SECOND = 10
    HOUR_TO_MINUTE = 11
    HOUR_TO_SECOND = 12
    MINUTE = 13
    MINUTE_TO_SECOND = 14


class TimePointUnit(Enum):
    """Units for `timestamp_diff`."""

    YEAR = 0
    MONTH = 1
    DAY = 2
    HOUR = 3
    MINUTE = 4
    SECOND = 5
    QUARTER = 6
    WEEK = 7
    MILLISECOND = 8
    MICROSECOND = 9


class JsonType(Enum):
    """Kinds of JSON for `is_json`."""

    VALUE = 0
    SCALAR = 1
    ARRAY = 2
    OBJECT = 3


class JsonExistsOnError(Enum):
    """What `json_exists` gives for an error."""

    TRUE = 0
    FALSE = 1
    UNKNOWN = 2
    ERROR = 3


class JsonValueOnEmptyOrError(Enum):
    """What `json_value` gives if nothing is there, or for an error."""

    NULL = 0
    ERROR = 1
    DEFAULT = 2


class JsonQueryWrapper(Enum):
    """Whether `json_query` puts an array around what it finds."""

    WITHOUT_ARRAY = 0
    CONDITIONAL_ARRAY = 1
    UNCONDITIONAL_ARRAY = 2


class JsonQueryOnEmptyOrError(Enum):
    """What `json_query` gives if nothing is there, or for an error."""

    NULL = 0
    EMPTY_ARRAY = 1
    EMPTY_OBJECT = 2
    ERROR = 3


class JsonOnNull(Enum):
    """Whether `json_object` and `json_array` keep NULLs."""

    NULL = 0
    ABSENT = 1


def _binary(node: type, reverse: bool = False) -> Callable[[Any, Any], Any]:
    def operator(self: Expression[Any], other: Any) -> Expression[Any]:
        left, right = self.tree.copy(), tree_of(other)
        if reverse:
            left, right = right, left
        return Expression(node(this=left, expression=right))

    return operator


def _power(self: Expression[Any], other: Any) -> Any:
    return self._call("POWER", other)


class Expression(NumberMethods, TextMethods, CollectionMethods, Generic[T]):
    """A column, a literal, or a call over other expressions; it has no value of its own yet.

    Python's operators work on it: `+ - * / % **`, comparisons, and `& | ~` for AND, OR, NOT.

    >>> from penstock.table.expressions import col
    >>> print((col("a") + 1) * 2 > col("b"))
    (((a + 1) * 2) > b)
    """

    __add__ = _binary(exp.Add)
    __radd__ = _binary(exp.Add, reverse=True)
    __sub__ = _binary(exp.Sub)
    __rsub__ = _binary(exp.Sub, reverse=True)
    __mul__ = _binary(exp.Mul)
    __rmul__ = _binary(exp.Mul, reverse=True)
    __truediv__ = _binary(exp.Div)
    __rtruediv__ = _binary(exp.Div, reverse=True)
    __mod__ = _binary(exp.Mod)
    __rmod__ = _binary(exp.Mod, reverse=True)
    __eq__ = _binary(exp.EQ)
    __ne__ = _binary(exp.NEQ)
    __lt__ = _binary(exp.LT)
    __le__ = _binary(exp.LTE)
    __gt__ = _binary(exp.GT)
    __ge__ = _binary(exp.GTE)
    __and__ = _binary(exp.And)
    __rand__ = _binary(exp.And, reverse=True)
    __or__ = _binary(exp.Or)
    __ror__ = _binary(exp.Or, reverse=True)
    __pow__ = _power
    # Comparisons make expressions, so equality cannot serve as that of members of a set.
    __hash__ = object.__hash__

    def __rpow__(self, other: Any) -> Any:
        return Expression(call("POWER", tree_of(other), self.tree.copy()))

    def __neg__(self) -> Any:
        return self._call("NEGATE")

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._call("ABS")

    def __invert__(self) -> Any:
        return Expression(exp.Not(this=self.tree.copy()))

    def __getitem__(self, index: Any) -> Any:
        return self.at(index)

    def __bool__(self) -> bool:
        raise ValueError(
            "an expression is neither true nor false yet: combine conditions with & | ~ "
            "instead of and, or, not"
        )

    def __str__(self) -> str:
        return show(self.tree)

    def __repr__(self) -> str:
        return f"Expression({show(self.tree)})"

    # --- names, types and order ------------------------------------------------------------------

    def alias(self, name: str, *extra_names: str) -> Any:
        """Name the expression; more names are for one that gives several columns."""
        if extra_names:
            return Expression(modified("alias", self.tree.copy(), name, *extra_names))
        identifier = exp.to_identifier(name, quoted=True)
        return Expression(exp.Alias(this=self.tree.copy(), alias=identifier))

    def cast(self, data_type: LogicalType) -> Any:
        """Return the value as another type; one that cannot be is an error."""
        return Expression(cast_tree(self.tree.copy(), data_type))

    def try_cast(self, data_type: LogicalType) -> Any:
        """Return the value as another type; one that cannot be is NULL."""
        return Expression(cast_tree(self.tree.copy(), data_type, attempt=True))

    @property
    def asc(self) -> Any:
        """Sort by this, upwards."""
        return Expression(exp.Ordered(this=self.tree.copy(), desc=False))

    @property
    def desc(self) -> Any:
        """Sort by this, downwards."""
        return Expression(exp.Ordered(this=self.tree.copy(), desc=True))

    @property
    def distinct(self) -> Any:
        """Let an aggregate see each value once: `col("a").count.distinct`."""
        tree = self.tree.copy()
        tree.set("expressions", [exp.Distinct(expressions=tree.expressions)])
        return Expression(tree)

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Any:
        """Tell whether it is one of some values, or of the rows of a table."""
        if hasattr(first_element_or_table, "get_schema"):
            return Expression(modified("in_table", self.tree.copy(), first_element_or_table))
        options = [tree_of(e) for e in (first_element_or_table, *remaining_elements)]
        return Expression(exp.In(this=self.tree.copy(), expressions=options))

    def over(self, alias: Any) -> Any:
        """Aggregate over the window of that alias."""
        name = show(alias.tree) if isinstance(alias, Expression) else str(alias)
        return Expression(modified("over", self.tree.copy(), name))

    def as_argument(self, name: str) -> Any:
        """Name the expression as an argument of a call: `descriptor("op").as_argument("op")`."""
        return Expression(modified("argument", self.tree.copy(), name))

    # --- time ------------------------------------------------------------------------------------

    @property
    def start(self) -> Any:
        """The start of a window, by its alias."""
        return Expression(modified("start", self.tree.copy()))

    @property
    def end(self) -> Any:
        """The end of a window, by its alias."""
        return Expression(modified("end", self.tree.copy()))

    @property
    def rowtime(self) -> Any:
        """Mark a column as the event time, or ask for that of a window."""
        return Expression(modified("rowtime", self.tree.copy()))

    @property
    def proctime(self) -> Any:
        """Mark a column as the processing time, or ask for that of a window."""
        return Expression(modified("proctime", self.tree.copy()))

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Any:
        """Return a part of a date or time."""
        return Expression(call("EXTRACT", _unit(time_interval_unit), self.tree.copy()))

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Any:
        """Round a number down, or a time to a unit."""
        return self._rounded("FLOOR", time_interval_unit)

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Any:
        """Round a number up, or a time to a unit."""
        return self._rounded("CEIL", time_interval_unit)

    def _rounded(self, name: str, unit: TimeIntervalUnit | None) -> Any:
        more = [] if unit is None else [_unit(unit)]
        return Expression(call(name, self.tree.copy(), *more))

    # --- texts -----------------------------------------------------------------------------------

    def _trim(self, side: str, character: Any) -> Any:
        removed = literal(" ") if character is None else tree_of(character)
        return Expression(call("TRIM", exp.Var(this=side), removed, self.tree.copy()))

    def trim(self, character: Any = None) -> Any:
        """Remove characters, or spaces, at both ends."""
        return self._trim("BOTH", character)

    def trim_leading(self, character: Any = None) -> Any:
        """Remove characters, or spaces, in front."""
        return self._trim("LEADING", character)

    def trim_trailing(self, character: Any = None) -> Any:
        """Remove characters, or spaces, at the end."""
        return self._trim("TRAILING", character)

    def elt(self, expr: Any, *exprs: Any) -> Any:
        """Return the argument of this number, from 1."""
        return self._call("ELT", expr, *exprs)

    # --- rows ------------------------------------------------------------------------------------

    def get(self, name_or_index: str | int) -> Any:
        """Return a field of a row, by name or by position from 0."""
        key = name_or_index + 1 if isinstance(name_or_index, int) else name_or_index
        return Expression(call("ITEM", self.tree.copy(), literal(key)))

    @property
    def flatten(self) -> Any:
        """Make a column of each field of a row."""
        return Expression(modified("flatten", self.tree.copy()))

    # --- JSON ------------------------------------------------------------------------------------

    def _json(self, name: str, path: str, *clauses: str) -> Any:
        args = [self.tree.copy(), literal(path)]
        return Expression(JsonCall(this=name, expressions=args, clauses=list(clauses)))

    def is_json(self, json_type: JsonType | None = None) -> Any:
        """Tell whether a text is JSON, of some kind."""
        kind = JsonType.VALUE if json_type is None else json_type
        return self._call("IS JSON" if kind is JsonType.VALUE else f"IS JSON {kind.name}")

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Any:
        """Tell whether a path finds something in a JSON text."""
        clauses = [] if on_error is None else [f"{on_error.name} ON ERROR"]
        return self._json("JSON_EXISTS", path, *clauses)

    def json_value(
        self,
        path: str,
        returning_type: LogicalType = STRING,
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Any:
        """Return the scalar that a path finds in a JSON text."""
        clauses = [f"RETURNING {returning_type.nullable()}"]
        pairs = ((on_empty, default_on_empty, "EMPTY"), (on_error, default_on_error, "ERROR"))
        for behaviour, default, event in pairs:
            shown = behaviour.name
            if behaviour is JsonValueOnEmptyOrError.DEFAULT:
                shown = f"DEFAULT {typed_literal(default)}"
            clauses.append(f"{shown} ON {event}")
        return self._json("JSON_VALUE", path, *clauses)

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Any:
        """Return the JSON that a path finds in a JSON text."""
        wrapper = {
            JsonQueryWrapper.WITHOUT_ARRAY: "WITHOUT ARRAY WRAPPER",
            JsonQueryWrapper.CONDITIONAL_ARRAY: "WITH CONDITIONAL ARRAY WRAPPER",
            JsonQueryWrapper.UNCONDITIONAL_ARRAY: "WITH UNCONDITIONAL ARRAY WRAPPER",
        }[wrapping_behavior]
        events = [
            f"{behaviour.name.replace('_', ' ')} ON {event}"
            for behaviour, event in ((on_empty, "EMPTY"), (on_error, "ERROR"))
        ]
        return self._json("JSON_QUERY", path, wrapper, *events)


def _unit(unit: Any) -> Any:
    return exp.Var(this=unit.name if isinstance(unit, Enum) else str(unit).upper())


def _interval_property(unit: str) -> property:
    def read(self: Expression[Any]) -> Any:
        return Expression(interval(self.tree.copy(), unit))

    word = "millisecond" if unit == "MILLI" else unit.lower()
    return property(read, doc=f"An interval of so many {word}s.")


for _word in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLI"):
    setattr(Expression, _word.lower(), _interval_property(_word))
    setattr(Expression, _word.lower() + "s", _interval_property(_word))


def user_call(function: UserFunction, args: Sequence[Any]) -> Expression[Any]:
    """Return the call of a user's function."""
    return Expression(user_tree(function, [tree_of(arg) for arg in args]))


__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
    "bound",
    "user_call",
]
