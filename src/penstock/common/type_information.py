"""Type information: what the records of a stream are, in Flink's terms.

Records travel as Python objects whatever their type. Type information says how values of a
declared type look inside (for tables, files and other systems), and prints as Flink prints it.
"""

from __future__ import annotations

import array
import datetime
import decimal
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from penstock.common.time import Instant
from penstock.errors import TypeMismatchError, show_value


class TypeInformation(ABC):
    """Describe a type. Equal descriptions are equal objects."""

    #: Python classes whose objects are values of this type.
    python_types: tuple[type, ...] = (object,)

    @abstractmethod
    def _parts(self) -> tuple[Any, ...]:
        """Return what makes two descriptions of this class equal."""

    @abstractmethod
    def __str__(self) -> str: ...

    def need_conversion(self) -> bool:
        """Return whether values look different inside than in Python."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """Return a Python value as it looks inside."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """Return a value from inside as it looks in Python."""
        return obj

    def python_type_names(self) -> list[str]:
        """Return the names of the Python classes whose objects are values of this type."""
        return [cls.__name__ for cls in self.python_types]

    def accepts(self, value: Any) -> bool:
        """Return whether a value can be of this type; None always can."""
        return value is None or isinstance(value, self.python_types)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._parts()))

    def __repr__(self) -> str:
        return str(self)


@singledispatch
def declared_type(kind: Any) -> TypeInformation:
    """Return what a program declares as a type; types of tables are known where they are made.

    :raises TypeMismatchError: if it is no type.
    """
    raise TypeMismatchError(
        "this is no type",
        got=f"{type(kind).__name__} {show_value(kind)}",
        todo="pass a type such as Types.INT() or DataTypes.INT()",
    )


@declared_type.register
def _(kind: TypeInformation) -> TypeInformation:
    return kind


class BasicTypeInfo(TypeInformation):
    """A single value: a number, a string, a boolean.

    :param name: Flink's name of the type.
    """

    def __init__(self, name: str, *python_types: type) -> None:
        self.name = name
        self.python_types = python_types

    def _parts(self) -> tuple[Any, ...]:
        return (self.name,)

    def accepts(self, value: Any) -> bool:
        # bool is a subclass of int in Python, but a truth value is no number in Flink.
        if isinstance(value, bool) and bool not in self.python_types:
            return False
        return super().accepts(value)

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of strings."""
        return BasicTypeInfo("String", str)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of truth values."""
        return BasicTypeInfo("Boolean", bool)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of whole numbers of 8 bits."""
        return BasicTypeInfo("Byte", int)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of whole numbers of 16 bits."""
        return BasicTypeInfo("Short", int)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of whole numbers of 32 bits."""
        return BasicTypeInfo("Integer", int)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of whole numbers of 64 bits."""
        return BasicTypeInfo("Long", int)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of numbers of 32 bits."""
        return BasicTypeInfo("Float", float, int)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of numbers of 64 bits."""
        return BasicTypeInfo("Double", float, int)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of single characters."""
        return BasicTypeInfo("Character", str)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of whole numbers of any size."""
        return BasicTypeInfo("BigInteger", int)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of decimal numbers."""
        return BasicTypeInfo("BigDecimal", decimal.Decimal)


class SizedDecimalTypeInfo(BasicTypeInfo):
    """Decimal numbers of at most `precision` digits, `scale` of them behind the point."""

    def __init__(self, precision: int, scale: int) -> None:
        super().__init__("BigDecimal", decimal.Decimal)
        self.precision = precision
        self.scale = scale

    def _parts(self) -> tuple[Any, ...]:
        return (self.name, self.precision, self.scale)


class _NamedTypeInfo(TypeInformation):
    """A type that has no parts."""

    name = ""

    def _parts(self) -> tuple[Any, ...]:
        return ()

    def __str__(self) -> str:
        return self.name


_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()
_MICROS = 1_000_000


class DateTypeInfo(_NamedTypeInfo):
    """Dates; inside, days since 1970-01-01."""

    name = "DateTypeInfo"
    python_types = (datetime.date,)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: datetime.date | None) -> int | None:
        return None if obj is None else obj.toordinal() - _EPOCH_ORDINAL

    def from_internal_type(self, obj: int | None) -> datetime.date | None:
        return None if obj is None else datetime.date.fromordinal(obj + _EPOCH_ORDINAL)


class TimeTypeInfo(_NamedTypeInfo):
    """Times of day; inside, microseconds since midnight."""

    name = "TimeTypeInfo"
    python_types = (datetime.time,)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: datetime.time | None) -> int | None:
        if obj is None:
            return None
        offset = obj.utcoffset() or datetime.timedelta(0)
        since_midnight = datetime.timedelta(
            hours=obj.hour, minutes=obj.minute, seconds=obj.second, microseconds=obj.microsecond
        )
        return (since_midnight - offset) // datetime.timedelta(microseconds=1)

    def from_internal_type(self, obj: int | None) -> datetime.time | None:
        if obj is None:
            return None
        return (datetime.datetime.min + datetime.timedelta(microseconds=obj)).time()


class TimestampTypeInfo(_NamedTypeInfo):
    """Datetimes; inside, microseconds since the epoch. One without a zone means local time."""

    name = "TimestampTypeInfo"
    python_types = (datetime.datetime,)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: datetime.datetime | None) -> int | None:
        if obj is None:
            return None
        instant = Instant.of_datetime(obj.astimezone(datetime.timezone.utc))
        return instant.seconds * _MICROS + instant.nanos // 1000

    def from_internal_type(self, obj: int | None) -> datetime.datetime | None:
        if obj is None:
            return None
        seconds, micros = divmod(obj, _MICROS)
        return datetime.datetime.fromtimestamp(seconds).replace(microsecond=micros)


class InstantTypeInfo(_NamedTypeInfo):
    """Points in time; inside, microseconds since the epoch."""

    name = "Instant"
    python_types = (Instant,)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Instant | None) -> int | None:
        return None if obj is None else obj.seconds * _MICROS + obj.nanos // 1000

    def from_internal_type(self, obj: int | None) -> Instant | None:
        if obj is None:
            return None
        seconds, micros = divmod(obj, _MICROS)
        return Instant(seconds, micros * 1000)


class PickledBytesTypeInfo(_NamedTypeInfo):
    """Objects of any class: what every stream is of that says nothing else."""

    name = "PickledByteArrayTypeInfo"

    @staticmethod
    def PICKLED_BYTE_ARRAY_TYPE_INFO() -> PickledBytesTypeInfo:
        """Return the type."""
        return PickledBytesTypeInfo()


class ElementsTypeInfo(TypeInformation):
    """Base of the types that hold many values of one type.

    :param elem_type: type of the values.
    """

    def __init__(self, elem_type: TypeInformation) -> None:
        self.elem_type = elem_type

    def _parts(self) -> tuple[Any, ...]:
        return (self.elem_type,)

    def need_conversion(self) -> bool:
        return self.elem_type.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None or not self.need_conversion():
            return obj
        return [self.elem_type.to_internal_type(item) for item in obj]

    def from_internal_type(self, obj: Any) -> Any:
        if obj is None or not self.need_conversion():
            return obj
        return [self.elem_type.from_internal_type(item) for item in obj]

    def __str__(self) -> str:
        return f"{type(self).__name__}<{self.elem_type}>"


_PRIMITIVES = ("Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double", "Character")


def _check_element(elem_type: TypeInformation, names: Sequence[str], kind: str) -> None:
    if not isinstance(elem_type, BasicTypeInfo) or elem_type.name not in names:
        raise TypeMismatchError(
            f"invalid element type for {kind}",
            got=show_value(elem_type),
            todo=f"use one of {', '.join(names)}, or Types.OBJECT_ARRAY",
        )


class PrimitiveArrayTypeInfo(ElementsTypeInfo):
    """Arrays of numbers, truth values or characters; of bytes: `bytes`."""

    python_types: tuple[type, ...] = (list, tuple, array.array)

    def __init__(self, elem_type: TypeInformation) -> None:
        _check_element(elem_type, _PRIMITIVES, "a primitive array")
        super().__init__(elem_type)
        if str(elem_type) == "Byte":
            self.python_types = (bytes, bytearray, *self.python_types)


class BasicArrayTypeInfo(ElementsTypeInfo):
    """Arrays of single values that may be None."""

    python_types = (list, tuple, array.array)

    def __init__(self, elem_type: TypeInformation) -> None:
        _check_element(elem_type, [*_PRIMITIVES, "String"], "a basic array")
        super().__init__(elem_type)


class ObjectArrayTypeInfo(ElementsTypeInfo):
    """Arrays of values of any type."""

    python_types = (list, tuple)


class ListTypeInfo(ElementsTypeInfo):
    """Lists."""

    python_types = (list, tuple)
