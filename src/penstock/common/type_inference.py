"""Type information from Python's annotations."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import types
import typing
from collections.abc import Callable
from typing import Any

from penstock.common.composite_types import MapTypeInfo, PojoTypeInfo, TupleTypeInfo
from penstock.common.time import Instant
from penstock.common.type_information import (
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    ListTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)

_PLAIN: dict[Any, Callable[[], TypeInformation]] = {
    str: BasicTypeInfo.STRING_TYPE_INFO,
    bool: BasicTypeInfo.BOOLEAN_TYPE_INFO,
    int: BasicTypeInfo.LONG_TYPE_INFO,
    float: BasicTypeInfo.DOUBLE_TYPE_INFO,
    decimal.Decimal: BasicTypeInfo.BIG_DEC_TYPE_INFO,
    bytes: lambda: PrimitiveArrayTypeInfo(BasicTypeInfo.BYTE_TYPE_INFO()),
    bytearray: lambda: PrimitiveArrayTypeInfo(BasicTypeInfo.BYTE_TYPE_INFO()),
    datetime.datetime: TimestampTypeInfo,
    datetime.date: DateTypeInfo,
    datetime.time: TimeTypeInfo,
    Instant: InstantTypeInfo,
}
_ITERABLES = (
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Generator,
    collections.abc.Sequence,
    list,
)


def type_info_of(annotation: Any) -> TypeInformation:
    """Return the type that an annotation names; the type of any object if it has no other.

    >>> type_info_of(tuple[str, int])
    TupleTypeInfo(String, Long)
    """
    if isinstance(annotation, TypeInformation):
        return annotation
    if annotation in _PLAIN:
        return _PLAIN[annotation]()
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        # None is a value of every type, so `X | None` is X.
        rest = [item for item in arguments if item is not type(None)]
        return type_info_of(rest[0]) if len(rest) == 1 else PickledBytesTypeInfo()
    if origin in (list, collections.abc.Sequence) and len(arguments) == 1:
        return ListTypeInfo(type_info_of(arguments[0]))
    if origin in (dict, collections.abc.Mapping) and len(arguments) == 2:
        return MapTypeInfo(type_info_of(arguments[0]), type_info_of(arguments[1]))
    if origin is tuple and arguments:
        if arguments[-1] is Ellipsis:
            return ListTypeInfo(type_info_of(arguments[0]))
        return TupleTypeInfo([type_info_of(item) for item in arguments])
    return _type_of_class(annotation)


def return_type_of(function: Any, *, of_elements: bool = False) -> TypeInformation | None:
    """Return the type of what a function returns, or None if it does not say.

    :param of_elements: the function returns or yields many values: the type of one of them.
    """
    try:
        annotation = typing.get_type_hints(function).get("return")
    except (NameError, TypeError, AttributeError):
        # Annotations may name what exists only for a type checker, or there are none at all.
        return None
    if annotation is None or annotation is type(None):
        return None
    if not of_elements:
        return type_info_of(annotation)
    if typing.get_origin(annotation) in _ITERABLES and typing.get_args(annotation):
        return type_info_of(typing.get_args(annotation)[0])
    return None


def _type_of_class(annotation: Any) -> TypeInformation:
    if not isinstance(annotation, type) or not dataclasses.is_dataclass(annotation):
        return PickledBytesTypeInfo()
    try:
        hints = typing.get_type_hints(annotation)
    except NameError:
        return PickledBytesTypeInfo()
    names = [field.name for field in dataclasses.fields(annotation)]
    # A class that refers to itself would never end: such fields are any object.
    fields = {
        name: PickledBytesTypeInfo()
        if _mentions(hints[name], annotation)
        else type_info_of(hints[name])
        for name in names
    }
    return PojoTypeInfo(annotation, fields)


def _mentions(annotation: Any, cls: type) -> bool:
    return annotation is cls or any(_mentions(item, cls) for item in typing.get_args(annotation))
