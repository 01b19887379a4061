"""Dates, times, timestamps and intervals.

A TIMESTAMP is a datetime without a zone, a TIMESTAMP_LTZ one in UTC. A function that depends on the
session's time zone takes the zone as its last argument, for a TIMESTAMP_LTZ only.
"""

from __future__ import annotations

import calendar
import datetime
import re
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.errors import ConfigurationError, EvaluationError

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1)
EPOCH_UTC = datetime.datetime(1970, 1, 1, tzinfo=UTC)
_ORDINAL_OF_EPOCH = EPOCH.toordinal()
_MILLI = datetime.timedelta(milliseconds=1)
_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])(\d{1,2})(?::?(\d{2}))?")
_ABBREVIATIONS = {
    "PST": "America/Los_Angeles", "CST": "America/Chicago", "JST": "Asia/Tokyo",
    "IST": "Asia/Kolkata", "CTT": "Asia/Shanghai", "ECT": "Europe/Paris", "BST": "Asia/Dhaka",
}  # fmt: skip


@lru_cache(maxsize=256)
def zone_of(name: str) -> datetime.tzinfo:
    """Return a time zone by its name or offset: Europe/Berlin, GMT+08:00, PST.

    :raises ConfigurationError: if there is no such zone.
    """
    if name in ("UTC", "Z", "GMT"):
        return UTC
    match = _OFFSET.fullmatch(name)
    if match is not None:
        delta = datetime.timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        return datetime.timezone(delta if match[1] == "+" else -delta)
    try:
        return ZoneInfo(_ABBREVIATIONS.get(name, name))
    except (ZoneInfoNotFoundError, ValueError):
        raise ConfigurationError(
            f"there is no time zone {name!r}",
            todo="use a name such as Europe/Berlin, or an offset such as GMT+02:00",
        ) from None


def instant(value: datetime.datetime, zone: datetime.tzinfo) -> datetime.datetime:
    """Return the point in time at which clocks of the zone show the value."""
    return value.replace(tzinfo=zone).astimezone(UTC)


def local(value: datetime.datetime, zone: datetime.tzinfo) -> datetime.datetime:
    """Return what clocks of the zone show at a point in time."""
    return value.astimezone(zone).replace(tzinfo=None)


def from_millis(millis: int) -> datetime.datetime:
    """Return the point in time (TIMESTAMP_LTZ) so many milliseconds after 1970."""
    return EPOCH_UTC + datetime.timedelta(milliseconds=millis)


def timestamp_from_millis(millis: int) -> datetime.datetime:
    """Return the TIMESTAMP so many milliseconds after 1970-01-01 00:00:00."""
    return EPOCH + datetime.timedelta(milliseconds=millis)


def to_millis(value: datetime.datetime) -> int:
    """Return milliseconds since 1970 of a TIMESTAMP or a TIMESTAMP_LTZ."""
    return (value - (EPOCH if value.tzinfo is None else EPOCH_UTC)) // _MILLI


def milliseconds(value: datetime.timedelta) -> int:
    """Return the whole milliseconds of an interval."""
    return value // _MILLI


def start_of(value: datetime.date) -> datetime.datetime:
    """Return the first moment of a day."""
    return datetime.datetime(value.year, value.month, value.day)


def on_first_day(value: datetime.time) -> datetime.datetime:
    """Return a time of day on the day that Java's time begins with."""
    return datetime.datetime.combine(EPOCH.date(), value)


def cut(value: Any, precision: int) -> Any:
    """Return a time or timestamp with fewer digits; NULL stays."""
    if precision >= 6 or value is None:
        return value
    unit = 10 ** (6 - precision)
    return value.replace(microsecond=value.microsecond // unit * unit)


def add_months(value: Any, months: int) -> Any:
    """Return the same day some months later, or the last of that month if it is shorter."""
    if isinstance(value, datetime.time):
        return value
    total = value.year * 12 + value.month - 1 + int(months)
    year, month = total // 12, total % 12 + 1
    day = min(value.day, calendar.monthrange(year, month)[1])
    return value.replace(year=year, month=month, day=day)


def add_to_date(value: datetime.date, interval: datetime.timedelta) -> datetime.date:
    """Add an interval to a day; parts of a day are cut off."""
    return (start_of(value) + interval).date()


def add_to_time(value: datetime.time, interval: datetime.timedelta) -> datetime.time:
    """Add an interval to a time of day, around midnight."""
    return (on_first_day(value) + interval).time()


def scaled(a: Any, b: Any) -> datetime.timedelta:
    """Multiply an interval by a number, in either order."""
    interval, factor = (a, b) if isinstance(a, datetime.timedelta) else (b, a)
    return datetime.timedelta(milliseconds=int((interval // _MILLI) * factor))


def floor(value: Any, unit: str, zone: datetime.tzinfo | None = None) -> Any:
    """Round a date, time or timestamp down to a unit."""
    if zone is not None:
        return instant(floor(local(value, zone), unit), zone)
    if isinstance(value, datetime.datetime):
        return _floor_timestamp(value, unit)
    if isinstance(value, datetime.time):
        return _floor_timestamp(on_first_day(value), unit).time()
    return _floor_timestamp(start_of(value), unit).date()


def ceil(value: Any, unit: str, zone: datetime.tzinfo | None = None) -> Any:
    """Round a date, time or timestamp up to a unit."""
    if zone is not None:
        return instant(ceil(local(value, zone), unit), zone)
    if isinstance(value, datetime.time):
        return ceil(on_first_day(value), unit).time()
    if not isinstance(value, datetime.datetime):
        return ceil(start_of(value), unit).date()
    low = _floor_timestamp(value, unit)
    if low == value:
        return value
    return add_units(low, unit, 1)


_MONTHS = {
    "MONTH": 1,
    "QUARTER": 3,
    "YEAR": 12,
    "DECADE": 120,
    "CENTURY": 1200,
    "MILLENNIUM": 12000,
}
_LENGTHS = {
    "NANOSECOND": datetime.timedelta(0), "MICROSECOND": datetime.timedelta(microseconds=1),
    "MILLISECOND": _MILLI, "SECOND": datetime.timedelta(seconds=1),
    "MINUTE": datetime.timedelta(minutes=1), "HOUR": datetime.timedelta(hours=1),
    "DAY": datetime.timedelta(days=1), "WEEK": datetime.timedelta(weeks=1),
}  # fmt: skip
_ALIASES = {
    "SQL_TSI_" + unit: unit
    for unit in ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
}


def unit_of(name: str) -> str:
    """Return the unit that a word names: DAYS, SQL_TSI_DAY and day are DAY.

    :raises EvaluationError: if there is no such unit.
    """
    word = name.upper()
    word = _ALIASES.get(word, word)
    for form in (word, word.removesuffix("S"), {"MILLENNIA": "MILLENNIUM"}.get(word, word)):
        if form in _MONTHS or form in _LENGTHS:
            return form
    raise EvaluationError(f"there is no unit of time {name}", todo="use for instance DAY or HOUR")


def add_units(value: Any, unit: str, count: int) -> Any:
    """Add some units of time to a date, time or timestamp."""
    word = unit_of(unit)
    if word in _MONTHS:
        return add_months(value, count * _MONTHS[word])
    length = _LENGTHS[word] * count
    if isinstance(value, datetime.datetime):
        return value + length
    if isinstance(value, datetime.time):
        return add_to_time(value, length)
    return add_to_date(value, length)


def _floor_timestamp(value: datetime.datetime, unit: str) -> datetime.datetime:
    word = unit_of(unit)
    if word in _MONTHS:
        years = _MONTHS[word] // 12
        if word in ("CENTURY", "MILLENNIUM"):
            year = (value.year - 1) // years * years + 1
            return datetime.datetime(year, 1, 1)
        if years >= 1:
            return datetime.datetime(max(value.year // years * years, 1), 1, 1)
        span = _MONTHS[word]
        return datetime.datetime(value.year, (value.month - 1) // span * span + 1, 1)
    if word == "WEEK":
        # A week begins on Sunday here, unlike in EXTRACT.
        day = value.date() - datetime.timedelta(days=(value.weekday() + 1) % 7)
        return start_of(day)
    length = _LENGTHS[word]
    return value - (value - EPOCH) % length if length else value


def extract(unit: str, value: Any, zone: datetime.tzinfo | None = None) -> int:
    """Return a part of a date, time, timestamp or interval."""
    if isinstance(value, datetime.timedelta):
        return _part_of_interval(unit, value)
    if isinstance(value, int):
        years, months = divmod(abs(value), 12)
        sign = -1 if value < 0 else 1
        return sign * {"YEAR": years, "MONTH": months, "QUARTER": months // 3 + 1}[unit]
    moment = value if zone is None else local(value, zone)
    if isinstance(moment, datetime.time):
        moment = on_first_day(moment)
    elif not isinstance(moment, datetime.datetime):
        moment = start_of(moment)
    if unit == "EPOCH":
        return (moment - EPOCH) // datetime.timedelta(seconds=1)
    return _PARTS[unit](moment)


_PARTS: dict[str, Any] = {
    "MILLENNIUM": lambda v: (v.year - 1) // 1000 + 1,
    "CENTURY": lambda v: (v.year - 1) // 100 + 1,
    "DECADE": lambda v: v.year // 10,
    "YEAR": lambda v: v.year,
    "ISOYEAR": lambda v: v.isocalendar()[0],
    "QUARTER": lambda v: (v.month + 2) // 3,
    "MONTH": lambda v: v.month,
    "WEEK": lambda v: v.isocalendar()[1],
    "DOY": lambda v: v.timetuple().tm_yday,
    "DAY": lambda v: v.day,
    "DOW": lambda v: v.isoweekday() % 7 + 1,
    "ISODOW": lambda v: v.isoweekday(),
    "HOUR": lambda v: v.hour,
    "MINUTE": lambda v: v.minute,
    "SECOND": lambda v: v.second,
    "MILLISECOND": lambda v: v.microsecond // 1000,
    "MICROSECOND": lambda v: v.microsecond,
    "NANOSECOND": lambda v: v.microsecond * 1000,
}


def _part_of_interval(unit: str, value: datetime.timedelta) -> int:
    sign, size = (-1, -value) if value < datetime.timedelta() else (1, value)
    parts = {
        "DAY": size.days,
        "HOUR": size.seconds // 3600,
        "MINUTE": size.seconds // 60 % 60,
        "SECOND": size.seconds % 60,
        "MILLISECOND": size.seconds % 60 * 1000 + size.microseconds // 1000,
        "EPOCH": size // datetime.timedelta(seconds=1),
    }
    return sign * parts[unit]


def difference(unit: str, start: Any, end: Any) -> int:
    """Return the whole units from one date or timestamp to another."""
    word = unit_of(unit)
    if not isinstance(start, datetime.datetime):
        start = start_of(start)
    if not isinstance(end, datetime.datetime):
        end = start_of(end)
    if word in _MONTHS:
        months = _months_between(start, end)
        whole = abs(months) // _MONTHS[word]
        return whole if months >= 0 else -whole
    delta, length = end - start, _LENGTHS[word]
    return delta // length if delta >= datetime.timedelta() else -(-delta // length)


def _months_between(start: datetime.datetime, end: datetime.datetime) -> int:
    if end < start:
        return -_months_between(end, start)
    months = (end.year - start.year) * 12 + end.month - start.month
    return months - (add_months(start, months) > end)


def overlaps(start: Any, end: Any, other_start: Any, other_end: Any) -> bool:
    """Return whether two periods overlap; each ends at a time or after an interval."""
    first = sorted((start, _end_of(start, end)))
    second = sorted((other_start, _end_of(other_start, other_end)))
    return first[1] >= second[0] and second[1] >= first[0]


def _end_of(start: Any, end: Any) -> Any:
    if isinstance(end, datetime.timedelta):
        return add_units(start, "MILLISECOND", end // _MILLI)
    return add_months(start, end) if isinstance(end, int) else end
