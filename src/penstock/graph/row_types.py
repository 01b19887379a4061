"""What a declared type does to records: rows become `Row`, and print as Flink prints them.

Types are declarations here, since records travel pickled. Where a program would notice the
difference in PyFlink the declared type is put into effect: a record of a ROW type that is given as
a tuple, list or dict becomes a `Row` with the declared field names.
"""

from __future__ import annotations

from collections.abc import Callable
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

Converter = Callable[[Any], Any]


def make_converter(type_info: TypeInformation | None) -> Converter | None:
    """Return the function that turns a record into one of the declared type.

    None means that records stay as they are.
    """
    if isinstance(type_info, RowTypeInfo):
        return _RowConverter(type_info)
    if isinstance(type_info, TupleTypeInfo):
        fields = [make_converter(field) for field in type_info.get_field_types()]
        return _TupleConverter(fields) if any(fields) else None
    if isinstance(type_info, ListTypeInfo):
        element = make_converter(type_info.elem_type)
        return _ListConverter(element) if element else None
    return None
