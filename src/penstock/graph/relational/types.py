"""Flink's logical types, and which Python value stands for each in a row.

A row is a plain tuple. `None` is NULL. The other values:

| type | value |
| --- | --- |
| BOOLEAN | `bool` |
| TINYINT, SMALLINT, INT, BIGINT | `int` in the type's range; arithmetic wraps as in Java |
| FLOAT, DOUBLE | `float`; a FLOAT's is one that 32 bits can hold |
| DECIMAL(p, s) | `decimal.Decimal` with exactly s digits after the point |
| CHAR(n), VARCHAR(n) | `str`; a CHAR's is padded to n |
| BINARY(n), VARBINARY(n) | `bytes` |
| DATE, TIME(p) | `datetime.date`, `datetime.time` |
| TIMESTAMP(p) | `datetime.datetime` without a zone |
| TIMESTAMP_LTZ(p) | `datetime.datetime` in UTC (`datetime.timezone.utc`) |
| INTERVAL YEAR TO MONTH | `int`: months |
| INTERVAL DAY TO SECOND | `datetime.timedelta` |
| ARRAY | `list` |
| MULTISET | `dict` from element to count |
| MAP | `dict` |
| ROW | `tuple`; a `Row` only where users see it (`values.py`) |
| RAW, VARIANT | whatever object the user's function gave |
| BITMAP | `frozenset` of unsigned 32-bit numbers |

Times have microseconds, so a precision above 6 is kept in the type and cut off in values.

All types are frozen, hashable and picklable; equality includes nullability.

>>> DecimalType(10, 2).not_null().as_summary_string()
'DECIMAL(10, 2) NOT NULL'
>>> ArrayType(IntType()) == ArrayType(IntType(is_nullable=False))
False
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeVar

MAX_LENGTH = 2**31 - 1
MAX_DECIMAL_PRECISION = 38


class TimeAttribute(Enum):
    """Whether a timestamp column is a time attribute that windows can work on."""

    NONE = "none"
    ROWTIME = "rowtime"
    PROCTIME = "proctime"


_T = TypeVar("_T", bound="LogicalType")


@dataclass(frozen=True)
class LogicalType:
    """A logical type. Subclasses are Flink's classes of the same names.

    :param is_nullable: whether a value may be NULL.
    """

    is_nullable: bool = field(default=True, kw_only=True)

    def nullable(self: _T) -> _T:
        """Return the same type for values that may be NULL."""
        return self if self.is_nullable else replace(self, is_nullable=True)

    def not_null(self: _T) -> _T:
        """Return the same type for values that are never NULL."""
        return replace(self, is_nullable=False) if self.is_nullable else self

    def with_nullability(self: _T, is_nullable: bool) -> _T:
        """Return the same type with the given nullability."""
        return self.nullable() if is_nullable else self.not_null()

    def bridged_to(self: _T, conversion_cls: Any) -> _T:
        """Return the type itself: the Python class of a value does not depend on it."""
        return self

    def children(self) -> tuple[LogicalType, ...]:
        """Return the types inside this one: of elements, keys and values, fields."""
        return ()

    def name(self) -> str:
        """Return the type in SQL, without nullability."""
        return type(self).__name__.removesuffix("Type").upper()

    def as_summary_string(self) -> str:
        """Return the type as Flink's DESCRIBE prints it."""
        return self.name() if self.is_nullable else f"{self.name()} NOT NULL"

    def _shown_parts(self) -> tuple[Any, ...]:
        """Return what `repr` shows beside the nullability."""
        return ()

    def __repr__(self) -> str:
        parts = [*map(repr, self._shown_parts()), str(self.is_nullable).lower()]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True, repr=False)
class NullType(LogicalType):
    """The type of a bare NULL; it becomes any other."""


@dataclass(frozen=True, repr=False)
class SymbolType(LogicalType):
    """A keyword among a function's arguments: a time unit, LEADING, NULL ON NULL ..."""


@dataclass(frozen=True, repr=False)
class DescriptorType(LogicalType):
    """Column names, as `DESCRIPTOR(ts)` gives them to a table function."""


@dataclass(frozen=True, repr=False)
class BooleanType(LogicalType):
    """TRUE, FALSE and, if nullable, UNKNOWN."""


@dataclass(frozen=True, repr=False)
class NumericType(LogicalType):
    """Base of all numbers."""


@dataclass(frozen=True, repr=False)
class IntegralType(NumericType):
    """Base of whole numbers of a fixed width."""

    def bits(self) -> int:
        """Return the width in bits."""
        return _BITS[type(self)]

    def digits(self) -> int:
        """Return the precision of the DECIMAL that holds all values."""
        return _DIGITS[type(self)]


@dataclass(frozen=True, repr=False)
class TinyIntType(IntegralType):
    """8 bits."""


@dataclass(frozen=True, repr=False)
class SmallIntType(IntegralType):
    """16 bits."""


@dataclass(frozen=True, repr=False)
class IntType(IntegralType):
    """32 bits."""


@dataclass(frozen=True, repr=False)
class BigIntType(IntegralType):
    """64 bits."""


_BITS: dict[type, int] = {TinyIntType: 8, SmallIntType: 16, IntType: 32, BigIntType: 64}
_DIGITS: dict[type, int] = {TinyIntType: 3, SmallIntType: 5, IntType: 10, BigIntType: 19}


@dataclass(frozen=True, repr=False)
class ApproximateType(NumericType):
    """Base of floating-point numbers."""


@dataclass(frozen=True, repr=False)
class FloatType(ApproximateType):
    """32 bits."""


@dataclass(frozen=True, repr=False)
class DoubleType(ApproximateType):
    """64 bits."""


@dataclass(frozen=True, repr=False)
class DecimalType(NumericType):
    """A number with a fixed scale."""

    precision: int = 10
    scale: int = 0

    def name(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"

    def _shown_parts(self) -> tuple[Any, ...]:
        return (self.precision, self.scale)


@dataclass(frozen=True, repr=False)
class CharacterType(LogicalType):
    """Base of texts."""

    length: int = 1

    def _shown_parts(self) -> tuple[Any, ...]:
        return (self.length,)


@dataclass(frozen=True, repr=False)
class CharType(CharacterType):
    """A text of a fixed length."""

    def name(self) -> str:
        return f"CHAR({self.length})"


@dataclass(frozen=True, repr=False)
class VarCharType(CharacterType):
    """A text of at most a length; STRING is the longest."""

    def name(self) -> str:
        return "STRING" if self.length == MAX_LENGTH else f"VARCHAR({self.length})"


@dataclass(frozen=True, repr=False)
class BinaryStringType(LogicalType):
    """Base of byte strings."""

    length: int = 1

    def _shown_parts(self) -> tuple[Any, ...]:
        return (self.length,)


@dataclass(frozen=True, repr=False)
class BinaryType(BinaryStringType):
    """Bytes of a fixed length."""

    def name(self) -> str:
        return f"BINARY({self.length})"


@dataclass(frozen=True, repr=False)
class VarBinaryType(BinaryStringType):
    """At most a number of bytes; BYTES is the longest."""

    def name(self) -> str:
        return "BYTES" if self.length == MAX_LENGTH else f"VARBINARY({self.length})"


@dataclass(frozen=True, repr=False)
class DatetimeType(LogicalType):
    """Base of dates, times of day and points in time."""


@dataclass(frozen=True, repr=False)
class DateType(DatetimeType):
    """A day."""


@dataclass(frozen=True, repr=False)
class TimeType(DatetimeType):
    """A time of day."""

    precision: int = 0

    def name(self) -> str:
        return f"TIME({self.precision})"

    def _shown_parts(self) -> tuple[Any, ...]:
        return (self.precision,)


@dataclass(frozen=True, repr=False)
class PointInTimeType(DatetimeType):
    """Base of timestamps with and without a zone."""

    precision: int = 6
    attribute: TimeAttribute = field(default=TimeAttribute.NONE, kw_only=True)

    def _name(self, word: str) -> str:
        return f"{word}({self.precision})"

    def as_summary_string(self) -> str:
        mark = "" if self.attribute is TimeAttribute.NONE else f" *{self.attribute.name}*"
        text = self.name() + ("" if self.is_nullable else " NOT NULL")
        return text + mark

    def as_attribute(self: _P, attribute: TimeAttribute) -> _P:
        """Return the same type as a time attribute, or as none."""
        return replace(self, attribute=attribute)

    @property
    def is_attribute(self) -> bool:
        """Whether this is a time attribute."""
        return self.attribute is not TimeAttribute.NONE

    def _shown_parts(self) -> tuple[Any, ...]:
        return (self.precision,)


_P = TypeVar("_P", bound=PointInTimeType)


@dataclass(frozen=True, repr=False)
class TimestampType(PointInTimeType):
    """Date and time of day, as a clock on a wall shows them."""

    def name(self) -> str:
        return self._name("TIMESTAMP")


@dataclass(frozen=True, repr=False)
class LocalZonedTimestampType(PointInTimeType):
    """A point in time, shown in the zone of the session (`table.local-time-zone`)."""

    def name(self) -> str:
        return self._name("TIMESTAMP_LTZ")


@dataclass(frozen=True, repr=False)
class IntervalType(LogicalType):
    """Base of lengths of time."""


@dataclass(frozen=True, repr=False)
class YearMonthIntervalType(IntervalType):
    """A number of months, written in the given units."""

    resolution: str = "YEAR TO MONTH"
    year_precision: int = 2

    def name(self) -> str:
        if self.resolution == "MONTH":
            return "INTERVAL MONTH"
        return "INTERVAL " + self.resolution.replace("YEAR", f"YEAR({self.year_precision})")


@dataclass(frozen=True, repr=False)
class DayTimeIntervalType(IntervalType):
    """A length of days, hours, minutes and seconds, written in the given units."""

    resolution: str = "DAY TO SECOND"
    day_precision: int = 2
    fractional_precision: int = 6

    def name(self) -> str:
        text = self.resolution.replace("DAY", f"DAY({self.day_precision})")
        return "INTERVAL " + text.replace("SECOND", f"SECOND({self.fractional_precision})")


@dataclass(frozen=True, repr=False)
class ArrayType(LogicalType):
    """A list of elements of one type."""

    element: LogicalType = NullType()

    def children(self) -> tuple[LogicalType, ...]:
        return (self.element,)

    def name(self) -> str:
        return f"ARRAY<{self.element}>"

    def _shown_parts(self) -> tuple[Any, ...]:
        return (self.element,)


@dataclass(frozen=True, repr=False)
class MultisetType(LogicalType):
    """Elements of one type, each with the number of times it occurs."""

    element: LogicalType = NullType()

    def children(self) -> tuple[LogicalType, ...]:
        return (self.element,)

    def name(self) -> str:
        return f"MULTISET<{self.element}>"

    def _shown_parts(self) -> tuple[Any, ...]:
        return (self.element,)


@dataclass(frozen=True, repr=False)
class MapType(LogicalType):
    """Values by key."""

    key: LogicalType = NullType()
    value: LogicalType = NullType()

    def children(self) -> tuple[LogicalType, ...]:
        return (self.key, self.value)

    def name(self) -> str:
        return f"MAP<{self.key}, {self.value}>"

    def _shown_parts(self) -> tuple[Any, ...]:
        return (self.key, self.value)


@dataclass(frozen=True, repr=False)
class RowField:
    """A named field of a row type."""

    name: str
    type: LogicalType
    description: str | None = None

    @property
    def data_type(self) -> LogicalType:
        """The type, under PyFlink's name."""
        return self.type

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.type!r}, {self.description or '...'})"

    def __str__(self) -> str:
        quoted = self.name.replace("`", "``")
        note = "" if self.description is None else " '" + self.description.replace("'", "''") + "'"
        return f"`{quoted}` {self.type}{note}"


@dataclass(frozen=True, repr=False)
class RowType(LogicalType):
    """Named fields in an order; also the schema of a table."""

    fields: tuple[RowField, ...] = ()

    @staticmethod
    def of(*fields: tuple[str, LogicalType], is_nullable: bool = True) -> RowType:
        """Return the row type of (name, type) pairs."""
        return RowType(tuple(RowField(n, t) for n, t in fields), is_nullable=is_nullable)

    def children(self) -> tuple[LogicalType, ...]:
        return tuple(field.type for field in self.fields)

    def names(self) -> list[str]:
        """Return the fields' names."""
        return [field.name for field in self.fields]

    def field_names(self) -> list[str]:
        """Return the fields' names."""
        return self.names()

    def field_types(self) -> list[LogicalType]:
        """Return the fields' types."""
        return list(self.children())

    def __repr__(self) -> str:
        return f"RowType({','.join(map(repr, self.fields))})"

    def index(self, name: str) -> int | None:
        """Return the position of the field of that name, if there is one."""
        return next((i for i, field in enumerate(self.fields) if field.name == name), None)

    def name(self) -> str:
        return f"ROW<{', '.join(map(str, self.fields))}>"


@dataclass(frozen=True, repr=False)
class RawType(LogicalType):
    """A Python object that only functions of the user look into."""

    class_name: str = "object"

    def name(self) -> str:
        return f"RAW('{self.class_name}', '...')"


@dataclass(frozen=True, repr=False)
class VariantType(LogicalType):
    """A value of JSON's model that carries its own type."""


@dataclass(frozen=True, repr=False)
class BitmapType(LogicalType):
    """A set of unsigned 32-bit numbers."""


NULL = NullType()
SYMBOL = SymbolType(is_nullable=False)
BOOLEAN = BooleanType()
TINYINT = TinyIntType()
SMALLINT = SmallIntType()
INT = IntType()
BIGINT = BigIntType()
FLOAT = FloatType()
DOUBLE = DoubleType()
STRING = VarCharType(MAX_LENGTH)
BYTES = VarBinaryType(MAX_LENGTH)
DATE = DateType()
TIME = TimeType()
TIMESTAMP_3 = TimestampType(3)
TIMESTAMP_LTZ_3 = LocalZonedTimestampType(3)
