"""Results as text: the table that Flink draws, and values as it shows them."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from penstock.common import Row
from penstock.graph.relational import types as t

_NULL = "<NULL>"
_LONGEST = 30
#: Widths that Flink gives to columns of a streaming result, where rows are not known in front.
_WIDTHS: list[tuple[type, int]] = [
    (t.BooleanType, 7),
    (t.TinyIntType, 4),
    (t.SmallIntType, 6),
    (t.IntType, 11),
    (t.BigIntType, 20),
    (t.DateType, 10),
]


def draw(rows: Iterable[Row], schema: t.RowType, streaming: bool, zone: str) -> Iterator[str]:
    """Yield the lines of a result: a table with a column `op` if it is a changelog."""
    kinds = [column.type for column in schema.fields]
    names = schema.names()
    if streaming:
        widths = [max(_width(kind), len(name)) for kind, name in zip(kinds, names, strict=True)]
        yield from _table(rows, names, kinds, widths, zone, changes=True)
        return
    known = list(rows)
    if not known:
        yield "Empty set"
        return
    cells = [[_cell(v, k, zone) for v, k in zip(row, kinds, strict=True)] for row in known]
    widths = [
        min(max([_columns(name), *(_columns(row[i]) for row in cells)]), _LONGEST)
        for i, name in enumerate(names)
    ]
    yield from _table(known, names, kinds, widths, zone, changes=False)


def _table(
    rows: Iterable[Row], names: list[str], kinds: list[t.LogicalType], widths: list[int],
    zone: str, *, changes: bool,
) -> Iterator[str]:  # fmt: skip
    heads = ["op", *names] if changes else names
    sizes = [2, *widths] if changes else widths
    rule = "+" + "+".join("-" * (size + 2) for size in sizes) + "+"
    yield rule
    yield "|" + "|".join(f" {_padded(h, s)} " for h, s in zip(heads, sizes, strict=True)) + "|"
    yield rule
    count = 0
    for row in rows:
        count += 1
        cells = [_cell(value, kind, zone) for value, kind in zip(row, kinds, strict=True)]
        if changes:
            cells.insert(0, str(row.get_row_kind()))
        shown = (f" {_padded(c, s)} " for c, s in zip(cells, sizes, strict=True))
        yield "|" + "|".join(shown) + "|"
    if count:
        yield rule
        word = "row" if count == 1 else "rows"
        yield f"{count} {word} in set"
    elif changes:
        yield "Received a total of 0 row"


def _width(kind: t.LogicalType) -> int:
    if isinstance(kind, t.DecimalType):
        return kind.precision + 2
    if isinstance(kind, t.TimestampType):
        return 19 + (kind.precision + 1 if kind.precision else 0)
    if isinstance(kind, t.LocalZonedTimestampType):
        return 19 + (kind.precision + 1 if kind.precision else 0)
    if isinstance(kind, t.TimeType):
        return 8 + (kind.precision + 1 if kind.precision else 0)
    for base, width in _WIDTHS:
        if isinstance(kind, base):
            return width
    return _LONGEST


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _padded(text: str, size: int) -> str:
    """Return the text to the right of its column, cut if it is too long."""
    width = _columns(text)
    if width > size:
        kept = ""
        for character in text:
            if _columns(kept + character) > size - 3:
                break
            kept += character
        text = f"{kept}..."
        width = _columns(text)
    return " " * (size - width) + text


def _cell(value: Any, kind: t.LogicalType, zone: str) -> str:
    return _NULL if value is None else show(value, kind, zone)


def show(value: Any, kind: t.LogicalType, zone: str = "UTC") -> str:
    """Return a value as CAST AS STRING and Flink's result table show it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(kind, t.LocalZonedTimestampType) and isinstance(value, datetime.datetime):
        local = value.astimezone(ZoneInfo(zone)) if value.tzinfo else value
        return _timestamp(local, kind.precision)
    if isinstance(kind, t.TimestampType) and isinstance(value, datetime.datetime):
        return _timestamp(value, kind.precision)
    if isinstance(kind, t.TimeType) and isinstance(value, datetime.time):
        return _with_fraction(value.strftime("%H:%M:%S"), value.microsecond, kind.precision)
    if isinstance(kind, t.RowType):
        parts = zip(value, kind.children(), strict=True)
        return "(" + ", ".join(show(v, k, zone) for v, k in parts) + ")"
    if isinstance(kind, t.ArrayType):
        return "[" + ", ".join(show(v, kind.element, zone) for v in value) + "]"
    if isinstance(kind, t.MapType):
        pairs = (f"{show(k, kind.key, zone)}={show(v, kind.value, zone)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(kind, t.MultisetType):
        return "{" + ", ".join(f"{show(k, kind.element, zone)}={n}" for k, n in value.items()) + "}"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float):
        return java_float(value)
    return str(value)


def java_float(value: float) -> str:
    """Return a double as Java shows it."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(Decimal(repr(value)), "f")
        return text if "." in text else f"{text}.0"
    digits, exponent = format(Decimal(repr(value)), "E").split("E")
    digits = digits if "." in digits else f"{digits}.0"
    whole, _, fraction = digits.partition(".")
    return f"{whole}.{fraction.rstrip('0') or '0'}E{int(exponent)}"


def _timestamp(value: datetime.datetime, precision: int) -> str:
    text = value.strftime("%Y-%m-%d %H:%M:%S")
    return _with_fraction(text, value.microsecond, precision)


def _with_fraction(text: str, micros: int, precision: int) -> str:
    return f"{text}.{f'{micros:06d}000'[:precision]}" if precision else text
