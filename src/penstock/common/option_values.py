"""Values of settings: from the text of a configuration to their types, and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

import yaml

from penstock.common.time import Duration

N = TypeVar("N", int, float)
T = TypeVar("T")

_TRUE, _FALSE = "true", "false"
_MEMORY_UNITS = {
    **dict.fromkeys(("", "b", "byte", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kib", "kibibytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mib", "mebibytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gib", "gibibytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tib", "tebibytes"), 1 << 40),
}
_QUOTED = r"\s*(?:'(?:[^']|'')*'|[^',:]*)\s*"
_PAIR = re.compile(rf"({_QUOTED}):((?:{_QUOTED}|[^',]*))(?:,|$)")


def to_text(value: Any) -> str:
    """Return a value as it is written in a configuration file.

    >>> to_text({"user": "me", "note": "a, b"})
    "user:me,note:'a, b'"
    """
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, Duration):
        return f"{value.to_millis()} ms"
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, dict):
        pairs = ((_quote(to_text(key)), _quote(to_text(item))) for key, item in value.items())
        return ",".join(f"{key}:{item}" for key, item in pairs)
    if isinstance(value, (list, tuple)):
        return ";".join(to_text(item) for item in value)
    return str(value)


def parse_bool(value: Any) -> bool:
    """Return true or false; anything else is a ValueError."""
    text = to_text(value).strip().lower()
    if text not in (_TRUE, _FALSE):
        raise ValueError("write true or false")
    return text == _TRUE


def parse_int(value: Any) -> int:
    """Return a whole number; anything else is a ValueError."""
    try:
        return int(value)
    except ValueError:
        raise ValueError("write a whole number") from None


def parse_float(value: Any) -> float:
    """Return a number; anything else is a ValueError."""
    try:
        return float(value)
    except ValueError:
        raise ValueError("write a number") from None


def parse_list(value: Any) -> list[Any]:
    """Return the items of a list: a YAML list, or texts parted by semicolons."""
    if isinstance(value, (list, tuple)):
        return list(value)
    text = str(value).strip()
    if text.startswith(("[", "- ")):
        return list(yaml.safe_load(text))
    return [item.strip() for item in text.split(";") if item.strip()]


def parse_memory(value: Any) -> int:
    """Return a size such as `64 mb` in bytes; anything else is a ValueError."""
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", str(value).lower())
    if match is None or match.group(2) not in _MEMORY_UNITS:
        raise ValueError("write a number and a unit (b, kb, mb, gb, tb), for instance '64 mb'")
    return int(match.group(1)) * _MEMORY_UNITS[match.group(2)]


def parse_duration(value: Any) -> Duration:
    """Return a span of time such as `10 s`; anything else is a ValueError."""
    return value if isinstance(value, Duration) else Duration.parse(to_text(value))


def parse_map(value: Any) -> dict[str, str]:
    """Return a map written Flink's way, `a:1,b:2`; keys and values may be quoted by '...'.

    >>> parse_map("user:me,note:'a, b'")
    {'user': 'me', 'note': 'a, b'}
    """
    if isinstance(value, dict):
        return {to_text(key): to_text(item) for key, item in value.items()}
    return {_unquote(key): _unquote(item) for key, item in _PAIR.findall(str(value))}


def parse_texts(value: Any) -> tuple[str, ...]:
    """Return texts that are parted by commas."""
    return tuple(part.strip() for part in to_text(value).split(",") if part.strip())


def optional(parse: Callable[[Any], T]) -> Callable[[Any], T | None]:
    """Return the parser of an option that has no default."""
    return parse


def optional_text(value: Any) -> str | None:
    """Return a text, None for an empty one."""
    return to_text(value) or None


def optional_duration(value: Any) -> Duration | None:
    """Return a span of time, None for one of length zero."""
    span = parse_duration(value)
    return span if span.to_millis() > 0 else None


def at_least(least: N, parse: Callable[[Any], N]) -> Callable[[Any], N]:
    """Return a parser that takes only numbers that are not below `least`."""

    def parse_bounded(value: Any) -> N:
        number = parse(value)
        if number < least:
            raise ValueError(f"write {least} or more")
        return number

    return parse_bounded


#: Parsers of whole numbers from 1 and from 0.
COUNT = at_least(1, parse_int)
AMOUNT = at_least(0, parse_int)


def one_of(*names: str, also: dict[str, str] | None = None) -> Callable[[Any], str]:
    """Return a parser of names, in any case.

    :param names: what may be written, and what is read.
    :param also: further spellings, with the name that each means.
    """
    known = {name.lower(): name for name in names} | (also or {})

    def parse_name(value: Any) -> str:
        try:
            return known[to_text(value).strip().lower()]
        except KeyError:
            raise ValueError(f"use one of: {', '.join(names)}") from None

    return parse_name


def _quote(text: str) -> str:
    if not any(char in text for char in ",:;' "):
        return text
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _unquote(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text
