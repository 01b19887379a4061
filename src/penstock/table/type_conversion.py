"""Logical types of what programs bring along: type information of streams, and Python values."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from penstock.common import Row
from penstock.common.typeinfo import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from penstock.graph.relational import types as t
from penstock.graph.relational.type_rules import common_type

_STRING = t.VarCharType(t.MAX_LENGTH)
_BY_NAME: dict[str, t.LogicalType] = {
    str(Types.STRING()): _STRING,
    str(Types.BOOLEAN()): t.BooleanType(),
    str(Types.BYTE()): t.TinyIntType(),
    str(Types.SHORT()): t.SmallIntType(),
    str(Types.INT()): t.IntType(),
    str(Types.LONG()): t.BigIntType(),
    str(Types.FLOAT()): t.FloatType(),
    str(Types.DOUBLE()): t.DoubleType(),
    str(Types.CHAR()): t.CharType(1),
    str(Types.BIG_DEC()): t.DecimalType(38, 18),
    str(Types.BIG_INT()): t.DecimalType(38, 0),
    str(Types.SQL_DATE()): t.DateType(),
    str(Types.SQL_TIME()): t.TimeType(0),
    str(Types.SQL_TIMESTAMP()): t.TimestampType(3),
    str(Types.INSTANT()): t.LocalZonedTimestampType(3),
}
#: As PyFlink infers them from Python's classes.
_BY_CLASS: dict[type, t.LogicalType] = {
    bool: t.BooleanType(),
    int: t.BigIntType(),
    float: t.DoubleType(),
    str: _STRING,
    bytes: t.VarBinaryType(t.MAX_LENGTH),
    bytearray: t.VarBinaryType(t.MAX_LENGTH),
    Decimal: t.DecimalType(38, 18),
    datetime.datetime: t.LocalZonedTimestampType(6),
    datetime.date: t.DateType(),
    datetime.time: t.TimeType(0),
    datetime.timedelta: t.DayTimeIntervalType(),
    type(None): t.NullType(),
}


def of_type_information(info: TypeInformation | None) -> t.LogicalType:
    """Return the logical type of records of a stream."""
    if info is None:
        return t.RawType()
    if isinstance(info, RowTypeInfo):
        return _row(info.get_field_names(), info.get_field_types())
    if isinstance(info, TupleTypeInfo):
        kinds = info.get_field_types()
        return _row([f"f{i}" for i in range(len(kinds))], kinds)
    if isinstance(info, MapTypeInfo):
        return t.MapType(
            of_type_information(info.key_type_info), of_type_information(info.value_type_info)
        )
    if isinstance(info, ListTypeInfo):
        return t.ArrayType(of_type_information(info.elem_type))
    element = getattr(info, "_element_type", None) or getattr(info, "element_type", None)
    if isinstance(element, TypeInformation):
        return t.ArrayType(of_type_information(element))
    if str(info) == str(Types.PRIMITIVE_ARRAY(Types.BYTE())):
        return t.VarBinaryType(t.MAX_LENGTH)
    names = getattr(info, "get_field_names", None)
    if names is not None:
        return _row(names(), info.get_field_types())  # type: ignore[attr-defined]
    return _BY_NAME.get(str(info), t.RawType())


def _row(names: Sequence[str], kinds: Sequence[TypeInformation]) -> t.RowType:
    return t.RowType.of(
        *((name, of_type_information(kind)) for name, kind in zip(names, kinds, strict=True))
    )


def of_value(value: Any) -> t.LogicalType:
    """Return the logical type that PyFlink infers for a Python value."""
    found = _BY_CLASS.get(type(value))
    if found is not None:
        return found
    if isinstance(value, Row) and value.get_field_names() is not None:
        names = value.get_field_names() or []
        return t.RowType.of(*((n, of_value(v)) for n, v in zip(names, value, strict=True)))
    if isinstance(value, tuple | Row):
        return t.RowType.of(*((f"_{i + 1}", of_value(v)) for i, v in enumerate(value)))
    if isinstance(value, list):
        return t.ArrayType(_merged([of_value(item) for item in value]))
    if isinstance(value, dict):
        keys = _merged([of_value(key) for key in value])
        return t.MapType(keys, _merged([of_value(item) for item in value.values()]))
    for base, kind in _BY_CLASS.items():
        if isinstance(value, base):
            return kind
    return t.RawType()


def of_rows(rows: Sequence[Any]) -> t.RowType | None:
    """Return the row type that many values have in common, None if they are no rows."""
    kinds = [_of_dict(row) if isinstance(row, dict) else of_value(row) for row in rows]
    if not kinds or not all(isinstance(kind, t.RowType) for kind in kinds):
        return None
    found = _merged(kinds)
    return found if isinstance(found, t.RowType) else None


def _of_dict(row: dict[Any, Any]) -> t.RowType:
    """Return the type of a row that is written as a dict: its columns are in order of name."""
    return t.RowType.of(*((str(name), of_value(value)) for name, value in sorted(row.items())))


def _merged(kinds: Sequence[t.LogicalType]) -> t.LogicalType:
    known = [kind for kind in kinds if not isinstance(kind, t.NullType)]
    if not known:
        return t.NullType()
    first = known[0]
    if isinstance(first, t.RowType) and all(isinstance(k, t.RowType) for k in known):
        rows = [k for k in known if isinstance(k, t.RowType)]
        if all(len(k.fields) == len(first.fields) for k in rows):
            columns = [_merged([k.fields[i].type for k in rows]) for i in range(len(first.fields))]
            return t.RowType.of(*zip(first.names(), columns, strict=True))
    return common_type(known) or t.RawType()
