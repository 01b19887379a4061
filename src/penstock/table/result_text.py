"""Results as text: the table that Flink draws, and values as it shows them."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from penstock.common import Row
from penstock.core.sql.casts import duration_text, float32_text, months_text
from penstock.graph.relational import types as t

NULL_TEXT = "<NULL>"
_LONGEST = 30
#: Widths that Flink gives to the columns of a query's result, whose rows are not known in front.
_WIDTHS: list[tuple[type, int]] = [
    (t.BooleanType, 5),
    (t.TinyIntType, 4),
    (t.SmallIntType, 6),
    (t.IntType, 11),
    (t.BigIntType, 20),
    (t.DateType, 10),
]


def draw(
    rows: Iterable[Row], schema: t.RowType, zone: str, *, changes: bool, by_content: bool = False,
    null_text: str = NULL_TEXT,
) -> Iterator[str]:  # fmt: skip
    """Yield the lines of a result.

    :param changes: whether a column `op` says what kind of change each row is.
    :param by_content: whether columns are as wide as what they hold, as with SHOW and DESCRIBE;
        else their types tell, and rows are drawn as they come.
    """
    kinds = [column.type for column in schema.fields]
    names = schema.names()
    if by_content:
        rows = list(rows)
        cells = [
            [_cell(v, k, zone, null_text) for v, k in zip(row, kinds, strict=True)] for row in rows
        ]
        widths = [
            max([_columns(name), *(_columns(row[i]) for row in cells)])
            for i, name in enumerate(names)
        ]
    else:
        widths = [max(_width(kind), len(name)) for kind, name in zip(kinds, names, strict=True)]
    shown = _Shown(names, kinds, widths, zone, null_text)
    yield from _table(rows, shown, changes=changes)


@dataclass(frozen=True)
class _Shown:
    """How a table is drawn: its columns, and what stands for NULL."""

    names: list[str]
    kinds: list[t.LogicalType]
    widths: list[int]
    zone: str
    null_text: str

    def cells(self, row: Row) -> list[str]:
        pairs = zip(row, self.kinds, strict=True)
        return [_cell(value, kind, self.zone, self.null_text) for value, kind in pairs]


def _table(rows: Iterable[Row], shown: _Shown, *, changes: bool) -> Iterator[str]:
    heads = ["op", *shown.names] if changes else shown.names
    sizes = [2, *shown.widths] if changes else shown.widths
    rule = "+" + "+".join("-" * (size + 2) for size in sizes) + "+"
    count = 0
    for row in rows:
        count += 1
        if count == 1:
            yield from (rule, _line(heads, sizes), rule)
        cells = shown.cells(row)
        yield _line([str(row.get_row_kind()), *cells] if changes else cells, sizes)
    if count:
        yield rule
        word = "row" if count == 1 else "rows"
        yield f"{count} {word} in set"
    else:
        yield "Empty set"


def _line(cells: list[str], sizes: list[int]) -> str:
    padded = (f" {_padded(c, s)} " for c, s in zip(cells, sizes, strict=True))
    return "|" + "|".join(padded) + "|"


def _width(kind: t.LogicalType) -> int:
    return max(_type_width(kind), len(NULL_TEXT))


def _type_width(kind: t.LogicalType) -> int:
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


def _cell(value: Any, kind: t.LogicalType, zone: str, null_text: str) -> str:
    return null_text if value is None else show(value, kind, zone)


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
    if isinstance(kind, t.YearMonthIntervalType):
        return months_text(value)
    if isinstance(kind, t.DayTimeIntervalType):
        return duration_text(value)
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(kind, t.FloatType):
        return float32_text(value)
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
