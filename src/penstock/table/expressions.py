"""Functions that make expressions: PyFlink's `pyflink.table.expressions`."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from penstock.graph.relational.expressions import Literal
from penstock.graph.relational.types import LogicalType
from penstock.table.expression import Expression, JsonOnNull, TimePointUnit
from penstock.table.expression_base import tree_of
from penstock.table.expression_tree import bound, column, literal, modified
from penstock.table.expression_tree import call as call_tree
from penstock.table.sql.dialect import Descriptor, JsonCall
from penstock.table.sql.parser import parse_expression
from penstock.table.udf import UserDefinedFunctionWrapper


def _call(name: str, *args: Any) -> Expression[Any]:
    return Expression(call_tree(name, *(tree_of(arg) for arg in args if arg is not None)))


def _mark(mark: str, *values: Any) -> Expression[Any]:
    return Expression(modified(mark, None, *values))


def col(name: str) -> Expression[Any]:
    """Return a column of the input; dots lead into rows.

    >>> print(col("a") + 1)
    (a + 1)
    """
    return Expression(column(name))


def lit(v: Any, data_type: LogicalType | None = None) -> Expression[Any]:
    """Return a constant. Its type is found from the value unless it is given."""
    return Expression(literal(v, data_type))


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """Return the columns from one to another, by name or position from 1."""
    return _mark("range", start, end)


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[Any]:
    """Return whether all conditions hold."""
    return _chain(exp.And, predicate0, predicate1, *predicates)


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[Any]:
    """Return whether one of the conditions holds."""
    return _chain(exp.Or, predicate0, predicate1, *predicates)


def _chain(node: type, first: Any, *others: Any) -> Expression[Any]:
    tree = tree_of(first)
    for other in others:
        tree = node(this=tree, expression=tree_of(other))
    return Expression(tree)


def not_(expression: Any) -> Expression[Any]:
    """Return whether a condition does not hold."""
    return Expression(exp.Not(this=tree_of(expression)))


#: How far back a window of OVER reaches: to the first row.
UNBOUNDED_ROW = _mark("unbounded_row")
#: How far back a window of OVER reaches: to the first value.
UNBOUNDED_RANGE = _mark("unbounded_range")
#: A window of OVER ends with the current row.
CURRENT_ROW = _mark("current_row")
#: A window of OVER ends with the current row's value.
CURRENT_RANGE = _mark("current_range")


def current_database() -> Expression[Any]:
    """Return the current database."""
    return _call("CURRENT_DATABASE")


def current_date() -> Expression[Any]:
    """Return the day in the session's time zone."""
    return _call("CURRENT_DATE")


def current_time() -> Expression[Any]:
    """Return the time of day in the session's time zone."""
    return _call("CURRENT_TIME")


def current_timestamp() -> Expression[Any]:
    """Return the point in time, as TIMESTAMP_LTZ(3)."""
    return _call("CURRENT_TIMESTAMP")


def current_watermark(rowtimeAttribute: Any) -> Expression[Any]:
    """Return the watermark of a rowtime attribute, or NULL before the first."""
    return _call("CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression[Any]:
    """Return the time of day in the session's time zone."""
    return _call("LOCALTIME")


def local_timestamp() -> Expression[Any]:
    """Return the time in the session's time zone, as TIMESTAMP(3)."""
    return _call("LOCALTIMESTAMP")


def to_date(date_str: Any, format: Any = None) -> Expression[Any]:
    """Read a day by a pattern of Java's; yyyy-MM-dd if none is given."""
    return _call("TO_DATE", date_str, format)


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression[Any]:
    """Read a timestamp by a pattern of Java's; yyyy-MM-dd HH:mm:ss if none is given."""
    return _call("TO_TIMESTAMP", timestamp_str, format)


def to_timestamp_ltz(*args: Any) -> Expression[Any]:
    """Return the point in time of a number (with its precision) or a text (pattern, zone)."""
    return _call("TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression[Any]:
    """Return whether two periods overlap; each ends at a time or after an interval."""
    return _call("OVERLAPS", left_time_point, left_temporal, right_time_point, right_temporal)


def date_format(timestamp: Any, format: Any) -> Expression[Any]:
    """Write a timestamp by a pattern of Java's."""
    return _call("DATE_FORMAT", timestamp, format)


def timestamp_diff(
    time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any
) -> Expression[Any]:
    """Return how many units of time lie between two points."""
    unit = exp.Var(this=time_point_unit.name)
    return Expression(call_tree("TIMESTAMPDIFF", unit, tree_of(time_point1), tree_of(time_point2)))


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression[Any]:
    """Return what clocks of one zone show when those of another show the text."""
    return _call("CONVERT_TZ", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression[Any]:
    """Show seconds since 1970 in the session's time zone."""
    return _call("FROM_UNIXTIME", unixtime, format)


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression[Any]:
    """Return the seconds since 1970, now or of a text in the session's time zone."""
    return _call("UNIX_TIMESTAMP", date_str, format)


def array(head: Any, *tail: Any) -> Expression[Any]:
    """Return an array of values."""
    return Expression(call_tree("ARRAY", *(tree_of(value) for value in (head, *tail))))


def row(head: Any, *tail: Any) -> Expression[Any]:
    """Return a row of values."""
    return Expression(call_tree("ROW", *(tree_of(value) for value in (head, *tail))))


def map_(key: Any, value: Any, *tail: Any) -> Expression[Any]:
    """Return a map of alternating keys and values."""
    return Expression(call_tree("MAP", *(tree_of(item) for item in (key, value, *tail))))


def map_from_arrays(key: Any, value: Any) -> Expression[Any]:
    """Return a map of an array of keys and one of values."""
    return _call("MAP_FROM_ARRAYS", key, value)


def descriptor(*column_names: str) -> Expression[Any]:
    """Return column names as an argument of a table function."""
    names = [exp.to_identifier(name, quoted=True) for name in column_names]
    return Expression(Descriptor(expressions=names))


def row_interval(rows: int) -> Expression[Any]:
    """Return a number of rows as the size of a window."""
    return _mark("rows", rows)


def pi() -> Expression[Any]:
    """Return the number pi."""
    return _call("PI")


def e() -> Expression[Any]:
    """Return the base of natural logarithms."""
    return _call("E")


def rand(seed: Any = None) -> Expression[Any]:
    """Return a random number from 0 up to 1."""
    return _call("RAND", seed)


def rand_integer(bound: Any, seed: Any = None) -> Expression[Any]:
    """Return a random whole number from 0 up to the bound."""
    return _call("RAND_INTEGER", seed, bound)


def atan2(y: Any, x: Any) -> Expression[Any]:
    """Return the angle of a point."""
    return _call("ATAN2", y, x)


def negative(v: Any) -> Expression[Any]:
    """Return the negative value."""
    return _call("NEGATE", v)


def concat(first: Any, *others: Any) -> Expression[Any]:
    """Return texts one after the other; NULL if one is NULL."""
    return _call("CONCAT", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression[Any]:
    """Return texts joined with a separator; NULLs are left out."""
    return _call("CONCAT_WS", separator, first, *others)


def uuid() -> Expression[Any]:
    """Return a random identifier."""
    return _call("UUID")


def null_of(data_type: LogicalType) -> Expression[Any]:
    """Return NULL of a type."""
    return Expression(bound(Literal(None, data_type.nullable())))


def log(v: Any, base: Any = None) -> Expression[Any]:
    """Return the logarithm to a base; the natural one if none is given."""
    return _call("LOG", base, v)


def source_watermark() -> Expression[Any]:
    """Return the mark that a schema's watermark is the source's own."""
    return _call("SOURCE_WATERMARK")


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression[Any]:
    """Return one of two values."""
    args = [tree_of(value) for value in (condition, if_true, if_false)]
    return Expression(call_tree("IF", *args))


def coalesce(*args: Any) -> Expression[Any]:
    """Return the first value that is not NULL."""
    return Expression(call_tree("COALESCE", *(tree_of(value) for value in args)))


def with_all_columns() -> Expression[Any]:
    """Return all columns."""
    return Expression(exp.Star())


def with_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Return some columns: by name, position, or `range_`."""
    return _mark("with_columns", *(tree_of(value) for value in (head, *tails)))


def without_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Return all columns but some: by name, position, or `range_`."""
    return _mark("without_columns", *(tree_of(value) for value in (head, *tails)))


def json(value: Any) -> Expression[Any]:
    """Return a text that is JSON already, for `json_object` and `json_array`."""
    return _call("JSON", value)


def json_string(value: Any) -> Expression[Any]:
    """Return a value as JSON."""
    return _call("JSON_STRING", value)


def _json(name: str, on_null: JsonOnNull, *args: Any) -> Expression[Any]:
    trees = [tree_of(arg) for arg in args]
    clauses = [f"{on_null.name} ON NULL"]
    return Expression(JsonCall(this=name, expressions=trees, clauses=clauses))


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression[Any]:
    """Return a JSON object of alternating keys and values."""
    return _json("JSON_OBJECT", on_null, *args)


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression[Any]:
    """Return a JSON object of the keys and values of a group."""
    return _json("JSON_OBJECTAGG", on_null, key_expr, value_expr)


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression[Any]:
    """Return a JSON array of values."""
    return _json("JSON_ARRAY", on_null, *args)


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression[Any]:
    """Return a JSON array of the values of a group."""
    return _json("JSON_ARRAYAGG", on_null, item_expr)


def lag(expr: Any, offset: int = 1, default: Any = None) -> Expression[Any]:
    """Return the value some rows before."""
    return _call("LAG", expr, offset, default)


def lead(expr: Any, offset: int = 1, default: Any = None) -> Expression[Any]:
    """Return the value some rows after."""
    return _call("LEAD", expr, offset, default)


def call(f: str | UserDefinedFunctionWrapper, *args: Any) -> Expression[Any]:
    """Call a function: one that is registered or built in by name, or one from `udf`."""
    if isinstance(f, str):
        return Expression(call_tree(f, *(tree_of(arg) for arg in args)))
    return f(*args)


def call_sql(sql_expression: str) -> Expression[Any]:
    """Return the expression that a SQL text is."""
    return Expression(parse_expression(sql_expression))


__all__ = [
    "CURRENT_RANGE", "CURRENT_ROW", "UNBOUNDED_RANGE", "UNBOUNDED_ROW", "and_", "array", "atan2",
    "call", "call_sql", "coalesce", "col", "concat", "concat_ws", "convert_tz", "current_database",
    "current_date", "current_time", "current_timestamp", "current_watermark", "date_format",
    "descriptor", "e", "from_unixtime", "if_then_else", "json", "json_array", "json_array_agg",
    "json_object", "json_object_agg", "json_string", "lag", "lead", "lit", "local_time",
    "local_timestamp", "log", "map_", "map_from_arrays", "negative", "not_", "null_of", "or_", "pi",
    "rand", "rand_integer", "range_", "row", "row_interval", "source_watermark",
    "temporal_overlaps", "timestamp_diff", "to_date", "to_timestamp", "to_timestamp_ltz",
    "unix_timestamp", "uuid", "with_all_columns", "with_columns", "without_columns",
]  # fmt: skip
