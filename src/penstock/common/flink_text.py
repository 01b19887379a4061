"""Values as Flink prints them, where a declared type makes them Flink's own."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from penstock.common.types import Row


def to_flink_text(value: Any) -> str:
    """Return a value as Flink prints it.

    >>> to_flink_text(("a", 1, [True, None]))
    '(a,1,[true, null])'
    >>> to_flink_text(Row(name="a", n=None))
    '+I[a, null]'
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"({','.join(map(to_flink_text, value))})"
    if isinstance(value, list):
        return f"[{', '.join(map(to_flink_text, value))}]"
    if isinstance(value, dict):
        entries = (f"{to_flink_text(k)}={to_flink_text(v)}" for k, v in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, float):
        return _number_text(value)
    if isinstance(value, Row):
        return f"{value.get_row_kind()}[{', '.join(map(to_flink_text, value))}]"
    return str(value)


def _number_text(value: float) -> str:
    """Return a number as Java prints it: with an exponent from ten millions on, and below 0.001."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    first, *rest = map(str, digits)
    power = len(digits) - 1 + exponent
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{power}"
