"""Columns of Arrow's as records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from penstock.common.composite_types import RowTypeInfo, TupleTypeInfo
from penstock.common.time import Instant
from penstock.common.type_information import ElementsTypeInfo, InstantTypeInfo, TypeInformation
from penstock.common.typeinfo import MapTypeInfo
from penstock.common.types import Row, _create_row

Convert = Callable[[Any], Any]


def rows(names: list[str], columns: Iterable[Sequence[Any]]) -> list[Row]:
    """Return a row for each place in the columns."""
    return [_create_row(names, values) for values in zip(*columns, strict=True)]


def values_of(column: pa.Array | pa.ChunkedArray, convert: Convert | None) -> list[Any]:
    """Return a column as Python values."""
    values: list[Any] = column.to_pylist()
    return values if convert is None else [None if v is None else convert(v) for v in values]


def converter(type_info: TypeInformation) -> Convert | None:
    """Return what turns a value of Arrow's into one of a declared type; None if it is one."""
    if isinstance(type_info, RowTypeInfo):
        names = type_info.get_field_names()
        inner = [converter(field) for field in type_info.get_field_types()]
        return lambda value: _create_row(
            names, [_apply(each, value.get(n)) for n, each in zip(names, inner, strict=True)]
        )
    if isinstance(type_info, TupleTypeInfo):
        fields = [converter(field) for field in type_info.get_field_types()]
        return lambda value: tuple(
            _apply(each, value.get(f"f{n}")) for n, each in enumerate(fields)
        )
    if isinstance(type_info, MapTypeInfo):
        key, item = converter(type_info.key_type_info), converter(type_info.value_type_info)
        return lambda value: {_apply(key, k): _apply(item, v) for k, v in value}
    if isinstance(type_info, ElementsTypeInfo):
        element = converter(type_info.elem_type)
        return element and (lambda value: [_apply(element, each) for each in value])
    if isinstance(type_info, InstantTypeInfo):
        return Instant.of_datetime
    if str(type_info) == "BigInteger":
        return int
    return None


def _apply(convert: Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)
