"""Whether the elements of `from_elements` are what their columns' types say."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from penstock.common import Row
from penstock.errors import TypeMismatchError, show_value
from penstock.graph.relational import types as t

#: The Python classes whose values a type takes; first match counts.
_CLASSES: list[tuple[type[t.LogicalType], tuple[type, ...]]] = [
    (t.BooleanType, (bool,)),
    (t.IntegralType, (int,)),
    (t.ApproximateType, (float, int)),
    (t.DecimalType, (Decimal, int)),
    (t.CharacterType, (str,)),
    (t.BinaryStringType, (bytes, bytearray)),
    (t.DateType, (datetime.date,)),
    (t.TimeType, (datetime.time,)),
    (t.PointInTimeType, (datetime.datetime,)),
    (t.DayTimeIntervalType, (datetime.timedelta,)),
    (t.ArrayType, (list, tuple)),
    (t.MapType, (dict,)),
    (t.RowType, (tuple, list, dict, Row)),
]


def check_rows(rows: Iterable[Any], schema: t.RowType) -> None:
    """Refuse rows whose values do not fit.

    :raises TypeMismatchError: with row and column of the first that does not.
    """
    names, kinds = schema.names(), schema.children()
    checks = [_accepted(kind) for kind in kinds]
    for number, row in enumerate(rows):
        values = _values(row, names)
        if len(values) != len(kinds):
            raise TypeMismatchError(
                f"row {number} has {len(values)} values for {len(kinds)} columns",
                where="from_elements", got=show_value(row),
                todo=f"give one value for each of: {', '.join(names)}",
            )  # fmt: skip
        for place, (value, classes) in enumerate(zip(values, checks, strict=True)):
            if not _fits(value, kinds[place], classes):
                raise TypeMismatchError(
                    f"column {names[place]!r} is {kinds[place]} and does not take this value",
                    where=f"from_elements, row {number}",
                    got=f"{type(value).__name__} {show_value(value)}",
                    todo="convert the value, declare another type, or pass verify_schema=False",
                )


def _values(row: Any, names: Sequence[str]) -> Sequence[Any]:
    return [row.get(name) for name in names] if isinstance(row, dict) else list(row)


def _accepted(kind: t.LogicalType) -> tuple[type, ...]:
    """Return the classes whose values a type takes; any if none are named."""
    return next((classes for base, classes in _CLASSES if isinstance(kind, base)), (object,))


def _fits(value: Any, kind: t.LogicalType, classes: tuple[type, ...]) -> bool:
    if value is None:
        return kind.is_nullable
    given: Any = value  # the classes say nothing to a type checker
    if not isinstance(given, classes):
        return False
    if isinstance(value, bool):
        return isinstance(kind, t.BooleanType) or object in classes
    if isinstance(kind, t.IntegralType):
        bound = 1 << (kind.bits() - 1)
        return -bound <= value < bound
    if isinstance(kind, t.ArrayType):
        inner = _accepted(kind.element)
        return all(_fits(item, kind.element, inner) for item in value)
    return True
