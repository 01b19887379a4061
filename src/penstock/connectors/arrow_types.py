"""Declared types as Arrow's: what a column of a Parquet or CSV file is read and written as."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.common.type_information import (
    ElementsTypeInfo,
    SizedDecimalTypeInfo,
    declared_type,
)
from penstock.common.typeinfo import (
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.errors import ConfigurationError, show_value

_BASIC = {
    "String": pa.string(),
    "Character": pa.string(),
    "Boolean": pa.bool_(),
    "Byte": pa.int8(),
    "Short": pa.int16(),
    "Integer": pa.int32(),
    "Long": pa.int64(),
    "Float": pa.float32(),
    "Double": pa.float64(),
    "BigInteger": pa.decimal128(38, 0),
    # What Flink makes of a Java BigDecimal that says no more.
    "BigDecimal": pa.decimal128(38, 18),
}
_TIMES: dict[type[TypeInformation], pa.DataType] = {
    DateTypeInfo: pa.date32(),
    TimeTypeInfo: pa.time32("ms"),
    TimestampTypeInfo: pa.timestamp("us"),
    InstantTypeInfo: pa.timestamp("us", "UTC"),
}


def arrow_type(type_info: TypeInformation) -> pa.DataType:
    """Return the Arrow type of values of a declared type.

    :raises ConfigurationError: if a file has no column for it, as for pickled objects.

    >>> from penstock.common import Types
    >>> arrow_type(Types.LIST(Types.INT()))
    ListType(list<item: int32>)
    """
    if isinstance(type_info, SizedDecimalTypeInfo):
        return pa.decimal128(type_info.precision, type_info.scale)
    if isinstance(type_info, BasicTypeInfo) and str(type_info) in _BASIC:
        return _BASIC[str(type_info)]
    if type(type_info) in _TIMES:
        return _TIMES[type(type_info)]
    if isinstance(type_info, ElementsTypeInfo):
        inner = type_info.elem_type
        return pa.binary() if str(inner) == "Byte" else pa.list_(arrow_type(inner))
    if isinstance(type_info, MapTypeInfo):
        return pa.map_(arrow_type(type_info.key_type_info), arrow_type(type_info.value_type_info))
    if isinstance(type_info, RowTypeInfo):
        return pa.struct(_fields(type_info.get_field_names(), type_info.get_field_types()))
    if isinstance(type_info, TupleTypeInfo):
        types = type_info.get_field_types()
        return pa.struct(_fields([f"f{number}" for number in range(len(types))], types))
    raise ConfigurationError(
        "a file has no column for values of this type",
        got=show_value(type_info),
        todo="declare a type of numbers, strings, truth values, times, lists, dicts or rows",
    )


def file_row_type(row_type: Any) -> RowTypeInfo:
    """Return the type of a file's rows, given as a ROW type of streams or of tables.

    :raises ConfigurationError: if it is no ROW type.
    """
    found = declared_type(row_type)
    if not isinstance(found, RowTypeInfo):
        raise ConfigurationError(
            "the columns of a file must be given as a ROW type",
            got=show_value(row_type),
            todo="pass Types.ROW_NAMED([names], [types]), or DataTypes.ROW([fields])",
        )
    return found


def arrow_schema(row_type: RowTypeInfo) -> pa.Schema:
    """Return the schema of a file of rows.

    :raises ConfigurationError: if a field has no Arrow type.
    """
    return pa.schema(_fields(row_type.get_field_names(), row_type.get_field_types()))


def _fields(names: Sequence[str], types: Sequence[TypeInformation]) -> list[pa.Field]:
    return [pa.field(name, arrow_type(kind)) for name, kind in zip(names, types, strict=True)]
