"""Spans of time and points in time."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from enum import Enum

from penstock.errors import ConfigurationError, show_value

_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_SECOND = 1_000_000_000
_UNIT_NANOS = {
    **dict.fromkeys(("ns", "nano", "nanosecond"), 1),
    **dict.fromkeys(("us", "µs", "micro", "microsecond"), 1_000),
    **dict.fromkeys(("", "ms", "milli", "millisecond"), _NANOS_PER_MILLI),
    **dict.fromkeys(("s", "sec", "second"), _NANOS_PER_SECOND),
    **dict.fromkeys(("m", "min", "minute"), 60 * _NANOS_PER_SECOND),
    **dict.fromkeys(("h", "hour"), 3_600 * _NANOS_PER_SECOND),
    **dict.fromkeys(("d", "day"), 86_400 * _NANOS_PER_SECOND),
}


class Duration:
    """A span of time with nanosecond resolution.

    >>> Duration.of_seconds(5).to_millis()
    5000
    >>> Duration.parse("2 min") == Duration.of_minutes(2)
    True
    """

    __slots__ = ("_nanos",)

    def __init__(self, nanos: int = 0) -> None:
        self._nanos = int(nanos)

    @staticmethod
    def of_days(days: int) -> Duration:
        """Return a span of days of 24 hours."""
        return Duration.of_hours(24 * days)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """Return a span of hours."""
        return Duration.of_minutes(60 * hours)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """Return a span of minutes."""
        return Duration.of_seconds(60 * minutes)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """Return a span of seconds."""
        return Duration.of_millis(1000 * seconds)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """Return a span of milliseconds."""
        return Duration(millis * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """Return a span of nanoseconds."""
        return Duration(nanos)

    @staticmethod
    def of(span: Duration | Time | timedelta | int) -> Duration:
        """Return any kind of span as a Duration; a plain number means milliseconds."""
        if isinstance(span, Duration):
            return span
        if isinstance(span, timedelta):
            return Duration(span // timedelta(microseconds=1) * 1000)
        return Duration.of_millis(to_milliseconds(span))

    @staticmethod
    def parse(text: str) -> Duration:
        """Return the span that a configuration value such as `10 s` or `200ms` names.

        :raises ConfigurationError: if it is no number followed by a unit of time.
        """
        match = re.fullmatch(r"\s*(\d+)\s*([a-zµ]*)\s*", str(text).lower())
        unit = match and match.group(2)
        if unit is not None and unit not in _UNIT_NANOS:
            unit = unit.removesuffix("s")
        if match is None or unit not in _UNIT_NANOS:
            raise ConfigurationError(
                "not a span of time",
                got=show_value(text),
                todo="write a number and a unit (d, h, min, s, ms, us, ns), for instance '10 s'",
            )
        return Duration(int(match.group(1)) * _UNIT_NANOS[unit])

    def to_millis(self) -> int:
        """Return the whole milliseconds."""
        return self._nanos // _NANOS_PER_MILLI

    def to_milliseconds(self) -> int:
        """Return the whole milliseconds, under the name that `Time` has for it."""
        return self.to_millis()

    def to_nanos(self) -> int:
        """Return the nanoseconds."""
        return self._nanos

    def to_timedelta(self) -> timedelta:
        """Return the span as a timedelta, cut to microseconds."""
        return timedelta(microseconds=self._nanos // 1000)

    def is_negative(self) -> bool:
        """Return whether the span is below zero."""
        return self._nanos < 0

    def is_zero(self) -> bool:
        """Return whether the span is zero."""
        return self._nanos == 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self._nanos == other._nanos

    def __lt__(self, other: Duration) -> bool:
        return self._nanos < other._nanos

    def __le__(self, other: Duration) -> bool:
        return self._nanos <= other._nanos

    def __hash__(self) -> int:
        return hash(("Duration", self._nanos))

    def __repr__(self) -> str:
        millis, rest = divmod(self._nanos, _NANOS_PER_MILLI)
        return f"Duration.of_nanos({self._nanos})" if rest else f"Duration.of_millis({millis})"


class TimeUnit(Enum):
    """A unit of time, as Java's: `Time.of(10, TimeUnit.SECONDS)`.

    >>> TimeUnit.MINUTES.to_millis(15)
    900000
    """

    MILLISECONDS = 1
    SECONDS = 1000
    MINUTES = 60 * 1000
    HOURS = 60 * 60 * 1000
    DAYS = 24 * 60 * 60 * 1000

    def to_millis(self, count: int) -> int:
        """Return so many of the unit in milliseconds."""
        return count * int(self.value)


class Time:
    """A span of time in milliseconds, as sizes of windows are given.

    >>> Time.minutes(5).to_milliseconds()
    300000
    """

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = int(milliseconds)

    @staticmethod
    def of(size: int, unit: TimeUnit) -> Time:
        """Return a span of so many of a unit."""
        return Time(unit.to_millis(size))

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """Return a span of milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """Return a span of seconds."""
        return Time.milliseconds(seconds * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """Return a span of minutes."""
        return Time.seconds(minutes * 60)

    @staticmethod
    def hours(hours: int) -> Time:
        """Return a span of hours."""
        return Time.minutes(hours * 60)

    @staticmethod
    def days(days: int) -> Time:
        """Return a span of days of 24 hours."""
        return Time.hours(days * 24)

    def to_milliseconds(self) -> int:
        """Return the milliseconds."""
        return self._milliseconds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self._milliseconds == other._milliseconds

    def __hash__(self) -> int:
        return hash(("Time", self._milliseconds))

    def __repr__(self) -> str:
        return f"Time.milliseconds({self._milliseconds})"

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"


class Instant:
    """A point on the time line with nanosecond resolution.

    >>> Instant.of_epoch_milli(1500)
    Instant<1, 500000000>
    """

    __slots__ = ("nanos", "seconds")

    def __init__(self, seconds: int, nanos: int) -> None:
        self.seconds = seconds
        self.nanos = nanos

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """Return the point that lies `epoch_milli` milliseconds after 1970-01-01T00:00:00Z."""
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    @staticmethod
    def of_datetime(moment: datetime) -> Instant:
        """Return the point that a datetime names; one without a zone is taken as UTC."""
        aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        micros = (aware - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)
        seconds, rest = divmod(micros, 1_000_000)
        return Instant(seconds, rest * 1000)

    def to_epoch_milli(self) -> int:
        """Return the whole milliseconds since 1970-01-01T00:00:00Z."""
        return self.seconds * 1000 + self.nanos // _NANOS_PER_MILLI

    def to_datetime(self) -> datetime:
        """Return the point as a datetime in UTC, cut to microseconds."""
        start = datetime(1970, 1, 1, tzinfo=timezone.utc)
        return start + timedelta(seconds=self.seconds, microseconds=self.nanos // 1000)

    def _parts(self) -> tuple[int, int]:
        return self.seconds, self.nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instant) and self._parts() == other._parts()

    def __lt__(self, other: Instant) -> bool:
        return self._parts() < other._parts()

    def __le__(self, other: Instant) -> bool:
        return self._parts() <= other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


def to_milliseconds(span: Duration | Time | timedelta | int) -> int:
    """Return any kind of span in milliseconds; a plain number means milliseconds already.

    :raises ConfigurationError: if it is no span of time.
    """
    if isinstance(span, (Duration, Time)):
        return span.to_milliseconds()
    if isinstance(span, timedelta):
        return span // timedelta(milliseconds=1)
    if isinstance(span, int) and not isinstance(span, bool):
        return span
    raise ConfigurationError(
        "not a span of time",
        got=f"{show_value(span)} of type {type(span).__name__}",
        todo="give a Duration, a Time, a timedelta or a whole number of milliseconds",
    )
