"""What a declared type does to records, as in PyFlink: they are converted to it, or refused.

Records travel pickled, so a type is not needed to move them. But a program notices it: an INT
takes whole numbers of 32 bits and cuts fractions off, a FLOAT has 32 bits, a record of a ROW type
becomes a `Row` with the declared names, a TUPLE has the declared number of fields. Values that fit
already, which is nearly all of them, are found by one expression made for the type.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from typing import Any

from penstock.common import Row
from penstock.common.flink_text import to_flink_text
from penstock.common.typeinfo import (
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.errors import TypeMismatchError, show_value

#: Bits of the whole numbers, by Flink's name.
_BITS = {"Byte": 8, "Short": 16, "Integer": 32, "Long": 64}
_TEXTS = ("String", "Character")
#: What Java prints in another way than Python.
_OTHER_TEXT = ("Boolean", "Float", "Double")
#: What a value of the type is: a Python number or text, or None.
_IMMUTABLE = (*_BITS, *_TEXTS, "Boolean", "Float", "Double")
_FLOAT = struct.Struct("<f")

Convert = Callable[[Any], Any]

#: The loop over many records: one frame, and no call for a record that fits. Its `self` is who
#: asked, by which a value that does not fit is traced to its operator.
_CODE = """
def converted(self, values):
    for value in values:
        yield value if {fits} else convert(value)

def behind(function):
    def call(record):
        value = function(record)
        return value if {fits} else convert(value)
    return call
"""


def make_converter(type_info: TypeInformation | None) -> Converter | None:
    """Return what turns records into ones of the declared type; None if they stay as they are."""
    if type_info is None or _fit_of(type_info, "value") == "True":
        return None
    return Converter(type_info)


class Converter:
    """Turn values into ones of a declared type.

    >>> from penstock.common import Types
    >>> convert = Converter(Types.TUPLE([Types.STRING(), Types.INT()]))
    >>> convert(["a", 1.7])
    ('a', 1)
    """

    def __init__(self, type_info: TypeInformation) -> None:
        self._type = type_info
        self._prepare()

    def _prepare(self) -> None:
        #: Whether no value of the type can change: a basic value, or a tuple of such.
        self.immutable = _is_immutable(self._type)
        scope: dict[str, Any] = {"Row": Row, "convert": _conversion_of(self._type)}
        # Made of a type, not of anything that comes from outside.
        exec(_CODE.format(fits=_fit_of(self._type, "value")), scope)
        self._converted: Callable[[Any, Iterable[Any]], Iterator[Any]] = scope["converted"]
        #: Returns a function whose results are those of another one, converted.
        self.behind: Callable[[Convert], Convert] = scope["behind"]

    def __call__(self, value: Any) -> Any:
        """Return `value` as one of the type; None stays None.

        :raises TypeMismatchError: if it cannot be one.
        """
        return next(self._converted(self, (value,)))

    def each(self, owner: Any, values: Iterable[Any]) -> Iterator[Any]:
        """Return an iterator over values as ones of the type.

        :param owner: whom an error is traced to.
        """
        return self._converted(owner, values)

    def __getstate__(self) -> TypeInformation:
        return self._type

    def __setstate__(self, type_info: TypeInformation) -> None:
        self._type = type_info
        self._prepare()


def _is_immutable(type_info: TypeInformation) -> bool:
    if isinstance(type_info, TupleTypeInfo):
        return all(map(_is_immutable, type_info.get_field_types()))
    return isinstance(type_info, BasicTypeInfo) and str(type_info) in _IMMUTABLE


# --- values that fit already ------------------------------------------------------------------


def _fit_of(type_info: TypeInformation, value: str) -> str:
    """Return an expression that is true if a value needs no conversion; "True" if none ever does.

    :param value: expression of the value.
    """
    if isinstance(type_info, BasicTypeInfo):
        return _fit_of_basic(str(type_info), value)
    if isinstance(type_info, TupleTypeInfo):
        types = type_info.get_field_types()
        fits = [f"type({value}) is tuple", f"len({value}) == {len(types)}"]
        return " and ".join([*fits, *_fits_inside(types, lambda i: f"{value}[{i}]")])
    if isinstance(type_info, RowTypeInfo):
        types = type_info.get_field_types()
        fits = [f"type({value}) is Row", f"{value}._fields == {type_info.get_field_names()!r}"]
        fits.append(f"len({value}) == {len(types)}")
        return " and ".join([*fits, *_fits_inside(types, lambda i: f"{value}._values[{i}]")])
    if isinstance(type_info, (ListTypeInfo, MapTypeInfo)):
        kind = "list" if isinstance(type_info, ListTypeInfo) else "dict"
        parts = _parts_of(type_info)
        plain = all(_fit_of(part, "x") == "True" for part in parts)
        return f"type({value}) is {kind}" if plain else "False"
    return "True"


def _fit_of_basic(name: str, value: str) -> str:
    if name == "Long":
        return f"type({value}) is int"  # a number that is too large is not worth a look at each
    if name in _BITS:
        bound = 1 << (_BITS[name] - 1)
        return f"type({value}) is int and {-bound} <= {value} < {bound}"
    kinds = {"String": "str", "Character": "str", "Boolean": "bool", "Double": "float"}
    if name in kinds:
        return f"type({value}) is {kinds[name]}"
    return "False" if name == "Float" else "True"


def _fits_inside(types: list[TypeInformation], field: Callable[[int], str]) -> list[str]:
    inner = [_fit_of(each, field(i)) for i, each in enumerate(types)]
    return [f"({fit})" for fit in inner if fit != "True"]


def _parts_of(type_info: ListTypeInfo | MapTypeInfo) -> list[TypeInformation]:
    if isinstance(type_info, ListTypeInfo):
        return [type_info.elem_type]
    return [type_info.key_type_info, type_info.value_type_info]


# --- conversions ------------------------------------------------------------------------------


def _conversion_of(type_info: TypeInformation) -> Convert:
    if isinstance(type_info, BasicTypeInfo):
        return _Basic(type_info)
    if isinstance(type_info, TupleTypeInfo):
        return _Tuple(type_info)
    if isinstance(type_info, RowTypeInfo):
        return _Row(type_info)
    if isinstance(type_info, ListTypeInfo):
        return _List(type_info)
    if isinstance(type_info, MapTypeInfo):
        return _Map(type_info)
    return _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _inner(type_info: TypeInformation) -> Convert:
    return make_converter(type_info) or _as_it_is


class _Basic:
    def __init__(self, type_info: TypeInformation) -> None:
        self._type = type_info
        self._name = str(type_info)
        self._bound = 1 << (_BITS.get(self._name, 64) - 1)

    def __call__(self, value: Any) -> Any:
        if value is None:
            return None
        if self._name == "Boolean":
            return bool(value)
        if self._name in _TEXTS:
            if isinstance(value, str):
                return value
            raise _mismatch(self._type, value)
        if isinstance(value, (str, bytes)):
            raise _mismatch(self._type, value)
        try:
            return self._number(value)
        except (TypeError, ValueError, OverflowError):
            raise _mismatch(self._type, value) from None

    def _number(self, value: Any) -> Any:
        if self._name == "Double":
            return float(value)
        if self._name == "Float":
            return _FLOAT.unpack(_FLOAT.pack(float(value)))[0]
        number = int(value)
        if not -self._bound <= number < self._bound:
            raise OverflowError(number)
        return number


class _Tuple:
    def __init__(self, type_info: TupleTypeInfo) -> None:
        self._type = type_info
        self._fields = [_inner(each) for each in type_info.get_field_types()]

    def __call__(self, value: Any) -> Any:
        if value is None:
            return None
        # More fields than the type has are left out, as in PyFlink.
        if not isinstance(value, (tuple, list, Row)) or len(value) < len(self._fields):
            raise _mismatch(self._type, value)
        values = [convert(each) for convert, each in zip(self._fields, value, strict=False)]
        same = len(value) == len(values) and all(a is b for a, b in zip(values, value, strict=True))
        return value if same and isinstance(value, tuple) else tuple(values)


class _Row:
    def __init__(self, type_info: RowTypeInfo) -> None:
        self._type = type_info
        self._names = type_info.get_field_names()
        self._fields = [_inner(each) for each in type_info.get_field_types()]

    def __call__(self, value: Any) -> Any:
        if value is None:
            return None
        values = self._values(value)
        if len(values) != len(self._names):
            raise _mismatch(self._type, value)
        converted = [convert(each) for convert, each in zip(self._fields, values, strict=True)]
        named = isinstance(value, Row) and value.get_field_names() == self._names
        if named and all(a is b for a, b in zip(converted, values, strict=True)):
            return value
        row = Row(*converted)
        row.set_field_names(self._names)
        if isinstance(value, Row):
            row.set_row_kind(value.get_row_kind())
        return row

    def _values(self, value: Any) -> list[Any]:
        if isinstance(value, Row):
            names = value.get_field_names()
            if names is not None and names != self._names and set(names) == set(self._names):
                return value.get_fields_by_names(self._names)
            return list(value)
        if isinstance(value, dict):
            return [value.get(name) for name in self._names]
        if isinstance(value, (tuple, list)):
            return list(value)
        raise _mismatch(self._type, value)


class _List:
    def __init__(self, type_info: ListTypeInfo) -> None:
        self._type = type_info
        self._element = _inner(type_info.elem_type)

    def __call__(self, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, list):
            raise _mismatch(self._type, value)
        return [self._element(each) for each in value]


class _Map:
    def __init__(self, type_info: MapTypeInfo) -> None:
        self._type = type_info
        self._key = _inner(type_info.key_type_info)
        self._value = _inner(type_info.value_type_info)

    def __call__(self, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _mismatch(self._type, value)
        return {self._key(key): self._value(each) for key, each in value.items()}


def _mismatch(type_info: TypeInformation, value: Any) -> TypeMismatchError:
    return TypeMismatchError(
        f"a value does not fit the declared type {type_info}",
        got=f"{type(value).__name__} {show_value(value)}",
        todo="correct the declared type, or what the function returns",
    )


# --- how values are shown ---------------------------------------------------------------------


def shown_by(type_info: TypeInformation | None) -> Convert | None:
    """Return how values of a type look outside the job; None if they look the same.

    A FLOAT has as few digits as tell it from its neighbours, as in Java: 0.1, not 0.10000000149.
    """
    if type_info is None or "Float" not in str(type_info):
        return None
    if isinstance(type_info, BasicTypeInfo):
        return shortest
    if isinstance(type_info, (TupleTypeInfo, RowTypeInfo)):
        return _ShownFields([shown_by(each) or _as_it_is for each in type_info.get_field_types()])
    if isinstance(type_info, ListTypeInfo):
        return _ShownElements(shown_by(type_info.elem_type) or _as_it_is)
    return None


class _ShownFields:
    def __init__(self, fields: list[Convert]) -> None:
        self._fields = fields

    def __call__(self, value: Any) -> Any:
        if value is None:
            return None
        values = [show(each) for show, each in zip(self._fields, value, strict=True)]
        if not isinstance(value, Row):
            return tuple(values)
        row = Row.of_kind(value.get_row_kind(), *values)
        if (names := value.get_field_names()) is not None:
            row.set_field_names(names)
        return row


class _ShownElements:
    def __init__(self, element: Convert) -> None:
        self._element = element

    def __call__(self, value: Any) -> Any:
        return None if value is None else [self._element(each) for each in value]


def shortest(value: float | None) -> float | None:
    """Return the number with the fewest digits that is the same one in 32 bits.

    >>> shortest(0.10000000149011612)
    0.1
    """
    if value is None or not isfinite(value):
        return value
    for digits in range(6, 9):
        short = float(f"{value:.{digits}g}")
        if _FLOAT.pack(short) == _FLOAT.pack(value):
            return short
    return float(f"{value:.9g}")


def text_of(type_info: TypeInformation | None) -> Convert | None:
    """Return how Flink writes values of a declared type; None if Python writes them so as well."""
    shown = shown_by(type_info)
    if isinstance(type_info, BasicTypeInfo) and str(type_info) not in (
        "Boolean",
        "Float",
        "Double",
    ):
        return None
    kinds = (BasicTypeInfo, RowTypeInfo, TupleTypeInfo, ListTypeInfo, MapTypeInfo)
    if not isinstance(type_info, kinds):
        return None
    return to_flink_text if shown is None else _Text(shown)


class _Text:
    def __init__(self, shown: Convert) -> None:
        self._shown = shown

    def __call__(self, value: Any) -> str:
        return to_flink_text(self._shown(value))


def printed_text_of(type_info: TypeInformation | None) -> Convert | None:
    """Return how `print` shows values of a declared type: rows as PyFlink's own `print` does."""
    return row_text if isinstance(type_info, RowTypeInfo) else text_of(type_info)


def row_text(row: Any) -> str:
    """Return a row as PyFlink prints it.

    >>> row_text(Row("a", None))
    '+I[a,None]'
    """
    if not isinstance(row, Row):
        return str(row)
    return f"{row.get_row_kind()}[{','.join(map(str, row))}]"
