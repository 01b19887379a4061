"""Dates written by Java's patterns (`yyyy-MM-dd--HH`), which Flink names its buckets with."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from penstock.errors import ConfigurationError

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
#: A run of one letter, quoted text, or anything that stands for itself.
TOKEN = re.compile(r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>(?:[^']|'')*)'|(?P<plain>[^A-Za-z'])")
_RESERVED = "#{}[]"

Piece = Callable[[datetime], str]


def compile_pattern(
    pattern: str, where: str = "DateTimeBucketAssigner"
) -> Callable[[datetime], str]:
    """Return a function that writes a time by a pattern of `java.time.DateTimeFormatter`.

    Texts are English. Names of months and days, quarters, offsets and the zone are known beside the
    numbers; a letter that is not known is an error, as what Flink would write is not certain then.

    :param where: what the pattern is for, for the error.
    :raises ConfigurationError: for a letter that is unknown or repeated too often.

    >>> compile_pattern("yyyy-MM-dd--HH")(datetime(2020, 3, 1, 7, 30))
    '2020-03-01--07'
    """
    pieces: list[Piece] = []
    position = 0
    while position < len(pattern):
        token = TOKEN.match(pattern, position)
        if token is None:
            raise _refused(where, pattern, "a quote is not closed")
        position = token.end()
        if letters := token["letters"]:
            pieces.append(_field(where, pattern, letters))
        elif token["quoted"] is not None:
            pieces.append(_text(token["quoted"].replace("''", "'") or "'"))
        elif token["plain"] in _RESERVED:
            raise _refused(where, pattern, f"{token['plain']!r} is reserved; write it in quotes")
        else:
            pieces.append(_text(token["plain"]))
    return lambda time: "".join([piece(time) for piece in pieces])


def finest_unit(pattern: str) -> int:
    """Return for how many milliseconds, from a multiple of it on, a pattern writes the same.

    Zones have been whole minutes away from each other since 1972, so this holds in all of them.
    """
    letters = {token["letters"][0] for token in TOKEN.finditer(pattern) if token["letters"]}
    if letters & set("SnNA"):
        return 1
    return 1_000 if "s" in letters else 60_000


def _text(text: str) -> Piece:
    return lambda time: text


def _number(read: Callable[[datetime], int], width: int) -> Piece:
    return lambda time: f"{read(time):0{width}d}"


#: Numbers, with the most letters that Java allows.
_NUMBERS: dict[str, tuple[Callable[[datetime], int], int]] = {
    "d": (lambda time: time.day, 2),
    "D": (lambda time: time.timetuple().tm_yday, 3),
    "H": (lambda time: time.hour, 2),
    "k": (lambda time: time.hour or 24, 2),
    "K": (lambda time: time.hour % 12, 2),
    "h": (lambda time: time.hour % 12 or 12, 2),
    "m": (lambda time: time.minute, 2),
    "s": (lambda time: time.second, 2),
}


def _field(where: str, pattern: str, letters: str) -> Piece:
    letter, width = letters[0], len(letters)
    if letter in _NUMBERS and width <= _NUMBERS[letter][1]:
        return _number(_NUMBERS[letter][0], width)
    if letter in "yu" and width != 2:
        return _number(lambda time: time.year, width)
    if letter in "yu":
        return _number(lambda time: time.year % 100, 2)
    if letter in "ML" and width <= 2:
        return _number(lambda time: time.month, width)
    if letter in "ML" and width <= 5:
        return lambda time: _name(MONTHS[time.month - 1], width)
    if letter == "E" and width <= 5:
        return lambda time: _name(_DAYS[time.weekday()], max(width, 3))
    if letter == "a" and width == 1:
        return lambda time: "AM" if time.hour < 12 else "PM"
    if letter == "S" and width <= 9:
        return lambda time: f"{time.microsecond * 1000:09d}"[:width]
    if letter in "qQ" and width <= 2:
        return _number(lambda time: (time.month + 2) // 3, width)
    if letter in "qQ" and width == 3:
        return lambda time: f"Q{(time.month + 2) // 3}"
    if letter in "xXZ" and width <= 3:
        return _offset(letter, width)
    if letters == "VV":
        return lambda time: str(time.tzinfo)
    if letter == "z" and width <= 3:
        return lambda time: time.tzname() or ""
    raise _refused(where, pattern, f"{letters!r} is not known")


def _name(name: str, width: int) -> str:
    """Return a name by the number of letters: short, full, or its first letter."""
    return {3: name[:3], 4: name}.get(width, name[:1])


def _offset(letter: str, width: int) -> Piece:
    def write(time: datetime) -> str:
        minutes = int((time.utcoffset() or timedelta()).total_seconds()) // 60
        if letter == "X" and minutes == 0:
            return "Z"
        hours, rest = divmod(abs(minutes), 60)
        sign = "-" if minutes < 0 else "+"
        if letter != "Z" and width == 1:
            return f"{sign}{hours:02d}" + (f"{rest:02d}" if rest else "")
        colon = ":" if letter != "Z" and width == 3 else ""
        return f"{sign}{hours:02d}{colon}{rest:02d}"

    return write


def _refused(where: str, pattern: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"a date cannot be written by this pattern: {why}",
        where=where,
        got=repr(pattern),
        todo="use letters of yyyy MM dd HH mm ss SSS E a D Q X z, others in single quotes",
    )
