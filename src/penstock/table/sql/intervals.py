"""INTERVAL literals."""

from __future__ import annotations

import datetime
import re

from penstock.errors import SqlParseError
from penstock.graph.relational.expressions import Literal
from penstock.graph.relational.types import DayTimeIntervalType, YearMonthIntervalType

_MS = {
    "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000, "WEEK": 604_800_000,
}  # fmt: skip


def interval_literal(text: str, unit: str) -> Literal:
    """Return the value of `INTERVAL 'text' unit`.

    >>> interval_literal("1 12:30", "DAY TO MINUTE").value
    datetime.timedelta(days=1, seconds=45000)
    >>> interval_literal("-2", "YEARS").value
    -24
    """
    words = [_singular(word) for word in unit.split(" TO ")]
    sign, body = (-1, text.strip()[1:]) if text.strip().startswith("-") else (1, text.strip())
    try:
        if words[0] in ("YEAR", "MONTH", "QUARTER"):
            months = YearMonthIntervalType("MONTH", is_nullable=False)
            return Literal(sign * _months(body, words), months)
        # Whatever the units, Flink's planner knows months and milliseconds only.
        kind = DayTimeIntervalType("SECOND", fractional_precision=3, is_nullable=False)
        return Literal(sign * _duration(body, words), kind)
    except (ValueError, KeyError):
        raise SqlParseError(
            "this is no interval",
            got=f"INTERVAL '{text}' {unit}",
            todo="write for instance INTERVAL '10' MINUTE or INTERVAL '1 12:30' DAY TO MINUTE",
        ) from None


def _singular(word: str) -> str:
    return word.strip().upper().removesuffix("S")


def _months(body: str, words: list[str]) -> int:
    if len(words) == 2:
        years, _, months = body.partition("-")
        return int(years) * 12 + int(months or 0)
    return int(body) * {"YEAR": 12, "QUARTER": 3, "MONTH": 1}[words[0]]


def _duration(body: str, words: list[str]) -> datetime.timedelta:
    if len(words) == 1:
        if words[0] == "SECOND":
            return datetime.timedelta(seconds=float(body))
        return datetime.timedelta(milliseconds=int(body) * _MS[words[0]])
    units = ["DAY", "HOUR", "MINUTE", "SECOND"]
    spanned = units[units.index(words[0]) : units.index(words[1]) + 1]
    parts = re.split(r"[ :]", body)
    if len(parts) != len(spanned):
        raise ValueError(body)
    total = datetime.timedelta()
    for part, word in zip(parts, spanned, strict=True):
        total += datetime.timedelta(milliseconds=round(float(part) * _MS[word]))
    return total
