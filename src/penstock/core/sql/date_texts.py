"""Times written and read by Java's patterns: DATE_FORMAT, TO_TIMESTAMP and their kin."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable
from functools import lru_cache

from penstock.core.date_pattern import MONTHS, TOKEN, compile_pattern
from penstock.core.sql.temporal import EPOCH, UTC, instant, local, start_of, zone_of
from penstock.errors import ConfigurationError

DEFAULT = "yyyy-MM-dd HH:mm:ss"
_MONTH_NUMBERS = {name.lower(): i for i, name in enumerate(MONTHS, 1)}
_SHORT_MONTHS = {name[:3].lower(): i for i, name in enumerate(MONTHS, 1)}
# Java's value for a text that UNIX_TIMESTAMP cannot read.
UNREADABLE = -(2**63)
_UTC_EPOCH = EPOCH.replace(tzinfo=UTC)
_SECOND, _MS = datetime.timedelta(seconds=1), datetime.timedelta(milliseconds=1)

_PLAIN = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?: (?P<hour>\d{2}):(?P<minute>\d{2}):(?P<second>\d{2})(?:\.(?P<fraction>\d{1,9}))?)?"
)

#: A pattern's letter: the group's name and what it may match, by the number of letters.
_FIELDS: dict[str, tuple[str, str]] = {
    "M": ("month", r"\d{1,2}"),
    "L": ("month", r"\d{1,2}"),
    "d": ("day", r"\d{1,2}"),
    "D": ("doy", r"\d{1,3}"),
    "H": ("hour", r"\d{1,2}"),
    "k": ("hour24", r"\d{1,2}"),
    "h": ("hour12", r"\d{1,2}"),
    "K": ("hour11", r"\d{1,2}"),
    "m": ("minute", r"\d{1,2}"),
    "s": ("second", r"\d{1,2}"),
    "a": ("half", r"[AaPp][Mm]"),
    "E": ("weekday", r"[A-Za-z]+"),
    "X": ("offset", r"Z|[+-]\d{2}(?::?\d{2})?"),
    "x": ("offset", r"[+-]\d{2}(?::?\d{2})?"),
    "Z": ("offset", r"[+-]\d{4}"),
    "z": ("zone", r"[A-Za-z_/]+(?:[+-]\d{1,2}(?::\d{2})?)?"),
    "V": ("zone", r"[A-Za-z_/]+(?:[+-]\d{1,2}(?::\d{2})?)?"),
}


@lru_cache(maxsize=512)
def _writer(pattern: str) -> Callable[[datetime.datetime], str]:
    return compile_pattern(pattern, where="DATE_FORMAT")


@lru_cache(maxsize=512)
def _reader(pattern: str) -> re.Pattern[str]:
    pieces: list[str] = []
    for token in TOKEN.finditer(pattern):
        letters = token["letters"]
        if letters:
            pieces.append(_field(pattern, letters))
        elif token["quoted"] is not None:
            pieces.append(re.escape(token["quoted"].replace("''", "'") or "'"))
        else:
            pieces.append(re.escape(token["plain"]))
    # A text may go on behind the pattern, as SimpleDateFormat allows.
    return re.compile("".join(pieces))


def _field(pattern: str, letters: str) -> str:
    letter, width = letters[0], len(letters)
    if letter in "yu":
        if width == 2:
            return r"(?P<year>\d{2})"
        return r"(?P<year>\d{4})" if _is_tight(pattern, letters) else r"(?P<year>-?\d{1,9})"
    if letter == "S":
        return rf"(?P<fraction>\d{{1,{max(width, 1)}}})"
    if letter in "ML" and width >= 3:
        return r"(?P<monthname>[A-Za-z]+)"
    if letter not in _FIELDS:
        raise ConfigurationError(
            "a date cannot be read by this pattern",
            got=repr(pattern),
            todo=f"leave out {letters!r}, or put it in single quotes",
        )
    name, form = _FIELDS[letter]
    if width == 2 and form == r"\d{1,2}" and _is_tight(pattern, letters):
        form = r"\d{2}"
    return f"(?P<{name}>{form})"


def _is_tight(pattern: str, letters: str) -> bool:
    """Return whether another number follows at once, so that the width decides."""
    end = pattern.find(letters) + len(letters)
    return end < len(pattern) and pattern[end].isalpha()


def write(
    value: datetime.datetime | datetime.date, pattern: str, zone: datetime.tzinfo | None = None
) -> str:
    """Write a timestamp by a pattern, in a zone if it is a TIMESTAMP_LTZ."""
    if not isinstance(value, datetime.datetime):
        value = start_of(value)
    return _writer(pattern)(value if zone is None else value.astimezone(zone))


def rewrite(text: str, pattern: str) -> str | None:
    """Write a timestamp that is given as a text in the default form."""
    value = read(text, DEFAULT)
    return None if value is None else write(value, pattern)


def read(text: str, pattern: str = DEFAULT, clipped: bool = True) -> datetime.datetime | None:
    """Read a timestamp by a pattern; None if the text does not fit.

    One with an offset is returned in UTC.

    :param clipped: take 30 February for the last day of the month, as Java does for timestamps.
    """
    match = _reader(pattern).match(text)
    if match is None:
        return None
    parts = match.groupdict()
    try:
        value = _value_of(parts, clipped)
    except ValueError:
        return None
    offset = parts.get("offset") or parts.get("zone")
    if offset is None:
        return value
    return instant(value, zone_of(offset)).astimezone(UTC)


def read_plain(text: str) -> datetime.datetime | None:
    """Read a timestamp in the form of SQL: a date, and a time with its fraction if there is one."""
    match = _PLAIN.fullmatch(text)
    if match is None:
        return None
    try:
        return _value_of(match.groupdict(), clipped=True)
    except ValueError:
        return None


def _value_of(parts: dict[str, str | None], clipped: bool) -> datetime.datetime:
    def number(name: str, default: int) -> int:
        text = parts.get(name)
        return default if text is None else int(text)

    year = number("year", 1970)
    if len(parts.get("year") or "") == 2:
        year += 2000 if year < 46 else 1900
    month = number("month", 1)
    if name := (parts.get("monthname") or "").lower():
        month = _MONTH_NUMBERS.get(name) or _SHORT_MONTHS.get(name) or 0
    hour = number("hour", 0)
    if parts.get("hour24"):
        hour = number("hour24", 0) % 24
    if parts.get("hour12") or parts.get("hour11"):
        hour = (number("hour12", 0) or number("hour11", 0)) % 12
        hour += 12 if (parts.get("half") or "").upper() == "PM" else 0
    micros = int(f"{parts.get('fraction') or '':0<6}"[:6])
    day = number("day", 1)
    if clipped and 28 < day <= 31:
        day = min(day, calendar.monthrange(year, month)[1])
    value = datetime.datetime(
        year, month, day, hour, number("minute", 0), number("second", 0), micros
    )
    if parts.get("doy"):
        value = value.replace(month=1, day=1) + datetime.timedelta(days=number("doy", 1) - 1)
    return value


def read_date(text: str, pattern: str = "yyyy-MM-dd") -> datetime.date | None:
    """Read a day by a pattern; None if the text does not fit."""
    value = read(text, pattern, clipped=False)
    return None if value is None else value.date()


def to_unix(text: str, zone: datetime.tzinfo, pattern: str = DEFAULT) -> int:
    """Return the seconds since 1970 of a text that is read in a zone."""
    value = read(text, pattern)
    if value is None:
        return UNREADABLE
    if value.tzinfo is None:
        value = instant(value, zone)
    return (value.replace(tzinfo=None) - EPOCH) // datetime.timedelta(seconds=1)


def from_unix(seconds: int, zone: datetime.tzinfo, pattern: str = DEFAULT) -> str:
    """Show the seconds since 1970 in a zone."""
    value = (EPOCH + datetime.timedelta(seconds=seconds)).replace(tzinfo=UTC)
    return write(local(value, zone), pattern)


def convert(text: str, source: str, target: str) -> str | None:
    """Return what clocks of one zone show when those of the other show the text."""
    value = read(text)
    if value is None:
        return None
    return write(local(instant(value, zone_of(source)), zone_of(target)), DEFAULT)


def from_epoch(number: float, precision: int) -> datetime.datetime | None:
    """Return the point in time of seconds (precision 0) or milliseconds (3) since 1970."""
    if precision not in (0, 3):
        raise ConfigurationError("TO_TIMESTAMP_LTZ takes a precision of 0 or 3", got=str(precision))
    try:
        return _UTC_EPOCH + int(number) * (_SECOND if precision == 0 else _MS)
    except OverflowError:
        return None


def read_local(
    text: str, zone: datetime.tzinfo, pattern: str = DEFAULT, named: str | None = None
) -> datetime.datetime | None:
    """Read a text as a point in time, in a zone that may be named."""
    value = read(text, pattern)
    if value is None or value.tzinfo is not None:
        return value
    return instant(value, zone if named is None else zone_of(named))
