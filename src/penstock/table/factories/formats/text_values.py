"""Single values as text: what csv and json have in common, and databases without types."""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table.result_text import java_float

_UTC = datetime.timezone.utc
#: As many digits as DECIMAL has, and some for what is cut off.
_DIGITS = Context(prec=80)


def text_writer(kind: t.LogicalType, *, iso: bool = False) -> Callable[[Any], str]:
    """Return how a value becomes text that `text_reader` reads again.

    :param iso: whether a T stands between date and time.
    """
    if isinstance(kind, t.BooleanType):
        return lambda value: "true" if value else "false"
    if isinstance(kind, t.PointInTimeType):
        mark, zone = "T" if iso else " ", isinstance(kind, t.LocalZonedTimestampType)
        return lambda value: _timestamp_text(value, mark, zone)
    if isinstance(kind, t.TimeType):
        return lambda value: with_fraction(f"{value:%H:%M:%S}", value.microsecond)
    if isinstance(kind, t.DecimalType):
        return lambda value: format(value, "f")
    if isinstance(kind, t.ApproximateType):
        return java_float
    if isinstance(kind, t.BinaryStringType):
        return lambda value: base64.b64encode(value).decode()
    return str


def _timestamp_text(value: datetime.datetime, mark: str, zone: bool) -> str:
    if value.tzinfo is not None:
        value = value.astimezone(_UTC)
    day = f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
    text = with_fraction(f"{day}{mark}{value:%H:%M:%S}", value.microsecond)
    return f"{text}Z" if zone else text


def with_fraction(text: str, micros: int) -> str:
    """Return a time with as many digits behind the second as it has."""
    return f"{text}.{micros:06d}".rstrip("0") if micros else text


def text_reader(kind: t.LogicalType) -> Callable[[str], Any]:
    """Return how a text becomes a value of a type."""
    if isinstance(kind, t.CharacterType):
        return str
    if isinstance(kind, t.IntegralType):
        return whole_reader(kind)
    if isinstance(kind, t.ApproximateType):
        return float
    if isinstance(kind, t.BooleanType):
        return lambda text: text.strip().lower() == "true"
    if isinstance(kind, t.DecimalType):
        return decimal_reader(kind)
    if isinstance(kind, t.DateType):
        return lambda text: datetime.date.fromisoformat(text.strip())
    if isinstance(kind, t.TimeType):
        return lambda text: datetime.time.fromisoformat(_six_digits(text.strip().rstrip("Z")))
    if isinstance(kind, t.LocalZonedTimestampType):
        return lambda text: _timestamp(text).replace(tzinfo=_UTC)
    if isinstance(kind, t.TimestampType):
        return _timestamp
    if isinstance(kind, t.BinaryStringType):
        return lambda text: base64.b64decode(text, validate=True)
    raise ValidationError(
        f"a text cannot hold a value of type {kind.as_summary_string()}",
        todo="use the json format",
    )


def whole_reader(kind: t.IntegralType) -> Callable[[Any], int]:
    """Return how a text or a number becomes a whole number of a width."""
    bound = 1 << (kind.bits() - 1)

    def read(value: Any) -> int:
        number = int(value)
        if not -bound <= number < bound:
            raise ValueError(f"{value} is no {kind.nullable()}")
        return number

    return read


def column_reader(
    kind: t.LogicalType, read: Callable[[str], Any]
) -> Callable[[Sequence[str]], Sequence[Any]]:
    """Return how the texts of a column become values, none of them NULL.

    :param read: how one of them does.
    """
    if isinstance(kind, t.CharacterType):
        return lambda column: column
    if isinstance(kind, t.IntegralType):
        bound = 1 << (kind.bits() - 1)
        return lambda column: _within(list(map(int, column)), bound)
    if type(kind) is t.TimestampType:
        return lambda column: _timestamps(column, read)
    return lambda column: list(map(read, column))


def _within(numbers: list[int], bound: int) -> list[int]:
    if numbers and not -bound <= min(numbers) <= max(numbers) < bound:
        raise ValueError("a number is too large for its type")
    return numbers


#: Times, a line each, as Python reads them: `2026-01-31 12:00:00`, with 3 digits behind it or 6.
_PLAIN_TIMES = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{3}(?:[0-9]{3})?)?\n)*"
)


def _timestamps(column: Sequence[str], read: Callable[[str], Any]) -> Sequence[Any]:
    if _PLAIN_TIMES.fullmatch("\n".join([*column, ""])):
        return list(map(datetime.datetime.fromisoformat, column))
    return list(map(read, column))


def decimal_reader(kind: t.DecimalType) -> Callable[[Any], Decimal | None]:
    """Return how a text or a number becomes a decimal; None if it has too many digits."""
    unit, bound = Decimal(1).scaleb(-kind.scale), Decimal(10) ** (kind.precision - kind.scale)

    def read(value: Any) -> Decimal | None:
        text = value.strip() if isinstance(value, str) else value
        number = Decimal(text).quantize(unit, ROUND_HALF_UP, _DIGITS)
        return number if abs(number) < bound else None

    return read


def _timestamp(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(_six_digits(text.strip().rstrip("Z").replace("T", " ")))


def _six_digits(text: str) -> str:
    head, dot, fraction = text.partition(".")
    return f"{head}.{fraction[:6]:0<6}" if dot else head
