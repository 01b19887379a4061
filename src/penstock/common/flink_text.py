"""Values as Flink prints them, where a declared type makes them Flink's own."""

from __future__ import annotations

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
    if isinstance(value, Row):
        return f"{value.get_row_kind()}[{', '.join(map(to_flink_text, value))}]"
    return str(value)
