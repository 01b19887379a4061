"""Types of columns as Arrow's, and rows as tables of Arrow's."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from penstock.errors import ValidationError
from penstock.graph.relational import types as t

_UTC = datetime.timezone.utc
_ARROW: dict[type, pa.DataType] = {
    t.BooleanType: pa.bool_(),
    t.TinyIntType: pa.int8(),
    t.SmallIntType: pa.int16(),
    t.IntType: pa.int32(),
    t.BigIntType: pa.int64(),
    t.FloatType: pa.float32(),
    t.DoubleType: pa.float64(),
    t.DateType: pa.date32(),
    t.TimestampType: pa.timestamp("us"),
    t.LocalZonedTimestampType: pa.timestamp("us", "UTC"),
}


def arrow_type(kind: t.LogicalType) -> pa.DataType:
    """Return the Arrow type of a column.

    :raises ValidationError: if a file has no column for it.
    """
    if type(kind) in _ARROW:
        return _ARROW[type(kind)]
    if isinstance(kind, t.CharacterType):
        return pa.string()
    if isinstance(kind, t.BinaryStringType):
        return pa.binary()
    if isinstance(kind, t.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, t.TimeType):
        return pa.time32("ms") if kind.precision <= 3 else pa.time64("us")
    if isinstance(kind, t.ArrayType):
        return pa.list_(arrow_type(kind.element))
    if isinstance(kind, t.MapType):
        return pa.map_(arrow_type(kind.key), arrow_type(kind.value))
    if isinstance(kind, t.MultisetType):
        return pa.map_(arrow_type(kind.element), pa.int32())
    if isinstance(kind, t.RowType):
        return pa.struct(list(arrow_schema(kind)))
    raise ValidationError(
        f"a file has no column for values of type {kind.as_summary_string()}",
        todo="leave the column out, or CAST it",
    )


def arrow_schema(schema: t.RowType) -> pa.Schema:
    """Return the Arrow schema of a file's columns."""
    return pa.schema([
        pa.field(column.name, arrow_type(column.type), column.type.is_nullable)
        for column in schema.fields
    ])  # fmt: skip


def from_arrow(kind: t.LogicalType) -> Callable[[Any], Any] | None:
    """Return what turns a value of Arrow's into a table's; None: nothing has to be done."""
    if isinstance(kind, t.RowType):
        names = kind.names()
        inner = [_or_none(from_arrow(each)) for each in kind.children()]
        return lambda value: tuple(c(value[n]) for n, c in zip(names, inner, strict=True))
    if isinstance(kind, t.ArrayType):
        element = from_arrow(kind.element)
        convert = _or_none(element)
        return None if element is None else lambda values: [convert(value) for value in values]
    if isinstance(kind, t.MapType):
        key, value = _or_none(from_arrow(kind.key)), _or_none(from_arrow(kind.value))
        return lambda pairs: {key(k): value(v) for k, v in pairs}
    if isinstance(kind, t.MultisetType):
        return dict
    if isinstance(kind, t.LocalZonedTimestampType):
        return lambda value: value.astimezone(_UTC)
    return None


def _or_none(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def logical_type(kind: pa.DataType, column: str) -> t.LogicalType:
    """Return the type of a column that Arrow has.

    :raises ValidationError: if tables have none.
    """
    for logical, arrow in _ARROW.items():
        if kind == arrow:
            made: t.LogicalType = logical()
            return made
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return t.STRING
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return t.BYTES
    if pa.types.is_decimal(kind):
        return t.DecimalType(precision=kind.precision, scale=kind.scale)
    if pa.types.is_timestamp(kind):
        return t.TimestampType() if kind.tz is None else t.LocalZonedTimestampType()
    if pa.types.is_list(kind):
        return t.ArrayType(element=logical_type(kind.value_type, column))
    if pa.types.is_map(kind):
        key, value = logical_type(kind.key_type, column), logical_type(kind.item_type, column)
        return t.MapType(key=key, value=value)
    if pa.types.is_struct(kind):
        return t.RowType.of(*((field.name, logical_type(field.type, column)) for field in kind))
    raise ValidationError(
        f"tables have no type for {kind}",
        where=f"column {column}",
        todo="cast the column to another type, or leave it out",
    )


def arrow_table(rows: Sequence[Sequence[Any]], schema: t.RowType) -> pa.Table:
    """Return rows as a table of Arrow's."""
    arrow = arrow_schema(schema)
    converters = [_to_arrow(kind) for kind in schema.children()]
    columns = zip(*rows, strict=True) if rows else [()] * len(converters)
    arrays = [
        pa.array([None if v is None else convert(v) for v in column], field.type)
        for column, convert, field in zip(columns, converters, arrow, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=arrow)


def _to_arrow(kind: t.LogicalType) -> Callable[[Any], Any]:
    if isinstance(kind, t.RowType):
        names = kind.names()
        inner = [_or_none(_to_arrow(each)) for each in kind.children()]
        return lambda value: {n: c(v) for n, c, v in zip(names, inner, value, strict=True)}
    if isinstance(kind, t.ArrayType):
        element = _or_none(_to_arrow(kind.element))
        return lambda values: [element(value) for value in values]
    if isinstance(kind, t.MapType):
        item = _or_none(_to_arrow(kind.value))
        return lambda value: [(k, item(v)) for k, v in value.items()]
    if isinstance(kind, t.MultisetType):
        return lambda value: list(value.items())
    return lambda value: value
