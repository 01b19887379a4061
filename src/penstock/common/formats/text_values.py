"""Single values as text and back, by their type: what JSON and CSV have in common."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable
from typing import Any

from penstock.common.time import Instant
from penstock.common.typeinfo import (
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)

_BITS = {"Byte": 8, "Short": 16, "Integer": 32, "Long": 64}
_UTC = datetime.timezone.utc
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?"
)


class BadFieldError(Exception):
    """A field does not hold what its type says; on its way up it learns the names around it."""

    def __init__(self, name: str, error: Exception) -> None:
        inner = error.path if isinstance(error, BadFieldError) else ()
        self.path: tuple[str, ...] = (name, *inner)
        self.cause: Exception = error.cause if isinstance(error, BadFieldError) else error
        super().__init__(f"{'.'.join(self.path)}: {self.cause}")


def whole_number(type_info: BasicTypeInfo) -> Callable[[Any], int]:
    """Return a check that a value is a whole number, and as small as its type wants it."""
    name = type_info.name
    limit = 1 << (_BITS[name] - 1) if name in _BITS else None

    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{value!r} is no whole number")
        if limit is not None and not -limit <= value < limit:
            raise ValueError(f"{value} is out of the range of {name}")
        return value

    return check


def is_whole(type_info: TypeInformation) -> bool:
    """Return whether a type's values are whole numbers."""
    name = getattr(type_info, "name", "")
    return isinstance(type_info, BasicTypeInfo) and (name in _BITS or name == "BigInteger")


def parser_of(type_info: TypeInformation) -> Callable[[str], Any] | None:
    """Return what reads a value of a type from text; None if it has no form as one text.

    >>> parser_of(DateTypeInfo())("2024-02-29")
    datetime.date(2024, 2, 29)
    """
    if isinstance(type_info, BasicTypeInfo):
        if is_whole(type_info):
            check = whole_number(type_info)
            return lambda text: check(int(text))
        return _BASIC_PARSERS[type_info.name]
    return _TIME_PARSERS.get(type(type_info))


def text_of(type_info: TypeInformation, *, zoned: bool) -> Callable[[Any], str] | None:
    """Return what writes a value of a type as text; None if it has no form as one text.

    :param zoned: write moments as `2024-02-29T12:00:00Z`, else as `2024-02-29 12:00:00`.
    """
    if isinstance(type_info, BasicTypeInfo):
        if is_whole(type_info):
            check = whole_number(type_info)
            return lambda value: str(check(value))
        return _BASIC_TEXTS[type_info.name]
    if isinstance(type_info, DateTypeInfo):
        return _date_text
    if isinstance(type_info, TimeTypeInfo):
        return (lambda value: _time_text(value) + "Z") if zoned else _time_text
    if isinstance(type_info, TimestampTypeInfo):
        return lambda value: _moment_text(value, zoned=zoned)
    if isinstance(type_info, InstantTypeInfo):
        # A point in time is never without its zone.
        return _instant_text
    return None


# ------------------------------------------------------------------------------------- parsing


def _parse_boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return word == "true"


def _parse_character(text: str) -> str:
    if len(text) != 1:
        raise ValueError(f"{text!r} is not one character")
    return text


def _parse_decimal(text: str) -> decimal.Decimal:
    try:
        return decimal.Decimal(text.strip())
    except decimal.InvalidOperation:
        raise ValueError(f"{text!r} is no decimal number") from None


def _parse_time(text: str) -> datetime.time:
    return datetime.time.fromisoformat(text.strip().removesuffix("Z"))


def _parse_moment(text: str) -> tuple[datetime.datetime, int]:
    """Return a moment in UTC without its zone and without fractions, and its nanoseconds."""
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no timestamp")
    day, time, fraction, zone = found.groups()
    moment = datetime.datetime.fromisoformat(f"{day}T{time}")
    if zone not in (None, "Z"):
        ahead = datetime.timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        moment += -ahead if zone[0] == "+" else ahead
    return moment, int((fraction or "0").ljust(9, "0"))


def _parse_timestamp(text: str) -> datetime.datetime:
    moment, nanos = _parse_moment(text)
    return moment.replace(microsecond=nanos // 1000)


def _parse_instant(text: str) -> Instant:
    moment, nanos = _parse_moment(text)
    return Instant(Instant.of_datetime(moment).seconds, nanos)


_BASIC_PARSERS: dict[str, Callable[[str], Any]] = {
    "String": str,
    "Character": _parse_character,
    "Boolean": _parse_boolean,
    "Float": float,
    "Double": float,
    "BigDecimal": _parse_decimal,
}
_TIME_PARSERS: dict[type, Callable[[str], Any]] = {
    DateTypeInfo: lambda text: datetime.date.fromisoformat(text.strip()),
    TimeTypeInfo: _parse_time,
    TimestampTypeInfo: _parse_timestamp,
    InstantTypeInfo: _parse_instant,
}


# ------------------------------------------------------------------------------------- writing


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no string")
    return value


def _boolean_text(value: Any) -> str:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither True nor False")
    return "true" if value else "false"


def _number_text(value: Any) -> str:
    if isinstance(value, bool):
        raise TypeError(f"{value!r} is no number")
    text = repr(float(value))
    return _SPECIAL.get(text, text)


#: As Java writes them, and Python reads them too.
_SPECIAL = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _decimal_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (decimal.Decimal, int)):
        raise TypeError(f"{value!r} is no decimal number")
    if not decimal.Decimal(value).is_finite():
        raise ValueError(f"{value!r} is not finite")
    return str(value)


def _date_text(value: Any) -> str:
    if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
        raise TypeError(f"{value!r} is no date")
    return value.isoformat()


def _time_text(value: Any) -> str:
    if not isinstance(value, datetime.time):
        raise TypeError(f"{value!r} is no time of day")
    return value.replace(tzinfo=None).isoformat()


def _moment_text(value: Any, *, zoned: bool) -> str:
    if not isinstance(value, datetime.datetime):
        raise TypeError(f"{value!r} is no datetime")
    plain = value.astimezone(_UTC).replace(tzinfo=None) if value.tzinfo else value
    return plain.isoformat("T") + "Z" if zoned else plain.isoformat(" ")


def _instant_text(value: Any) -> str:
    if not isinstance(value, Instant):
        raise TypeError(f"{value!r} is no Instant")
    start = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value.seconds)
    fraction = f".{value.nanos:09d}".rstrip("0") if value.nanos else ""
    return f"{start.isoformat()}{fraction}Z"


_BASIC_TEXTS: dict[str, Callable[[Any], str]] = {
    "String": _string,
    "Character": _string,
    "Boolean": _boolean_text,
    "Float": _number_text,
    "Double": _number_text,
    "BigDecimal": _decimal_text,
}
