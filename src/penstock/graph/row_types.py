"""What a declared type does to records: rows become `Row`, and values print as Flink prints them.

Types are declarations here, since records travel pickled. Where a program would notice the
difference in PyFlink the declared type is put into effect: a record of a ROW type that is given as
a tuple, list or dict becomes a `Row` with the declared names, and `print` writes a value of a
declared type as Flink does. Nothing else is converted or checked.
"""

from __future__ import annotations

from typing import Any

from penstock.common import Row
from penstock.common.typeinfo import (
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.errors import TypeMismatchError, show_value


def make_converter(type_info: TypeInformation | None) -> RowConverter | None:
    """Return what turns records into ones of the declared type; None if they stay as they are."""
    return RowConverter(type_info) if isinstance(type_info, RowTypeInfo) else None


class RowConverter:
    """Turn records into `Row` objects with declared names, and rows inside them as well."""

    def __init__(self, type_info: RowTypeInfo) -> None:
        self._names = type_info.get_field_names()
        self._inner = [
            (position, RowConverter(field))
            for position, field in enumerate(type_info.get_field_types())
            if isinstance(field, RowTypeInfo)
        ]

    def __call__(self, value: Any) -> Any:
        """Return `value` as a row; None stays None.

        :raises TypeMismatchError: if it has another number of fields, or is no record of fields.
        """
        if value is None or (not self._inner and self._is_done(value)):
            return value
        values = self._values(value)
        for position, convert in self._inner:
            values[position] = convert(values[position])
        row = Row(*values)
        row.set_field_names(self._names)
        if isinstance(value, Row):
            row.set_row_kind(value.get_row_kind())
        return row

    def _is_done(self, value: Any) -> bool:
        return isinstance(value, Row) and value.get_field_names() == self._names

    def _values(self, value: Any) -> list[Any]:
        if isinstance(value, Row):
            values = list(value)
            names = value.get_field_names()
            if names is not None and names != self._names and set(names) == set(self._names):
                values = value.get_fields_by_names(self._names)
        elif isinstance(value, dict):
            values = [value.get(name) for name in self._names]
        elif isinstance(value, (tuple, list)):
            values = list(value)
        else:
            raise self._mismatch("a record of a ROW type must be a Row, tuple, list or dict", value)
        if len(values) != len(self._names):
            raise self._mismatch(
                f"a record of this ROW type must have {len(self._names)} fields", value
            )
        return values

    def _mismatch(self, what: str, value: Any) -> TypeMismatchError:
        return TypeMismatchError(
            what,
            where=f"ROW of {', '.join(self._names)}",
            got=f"{type(value).__name__} {show_value(value)}",
            todo="correct the declared type, or what the function returns",
        )


def needs_flink_text(type_info: TypeInformation | None) -> bool:
    """Return whether values of a declared type print differently in Flink and in Python."""
    if isinstance(type_info, BasicTypeInfo):
        return str(type_info) == "Boolean"
    return isinstance(type_info, (RowTypeInfo, TupleTypeInfo, ListTypeInfo, MapTypeInfo))
