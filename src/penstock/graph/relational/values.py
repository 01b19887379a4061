"""Values as users see them: a ROW is a `Row` with names in their hands and a tuple in ours.

Everything else is the same on both sides, so most types need no conversion at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.common.types import Row
from penstock.graph.relational.types import (
    ArrayType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
)


@dataclass(frozen=True)
class Outward:
    """Turns a value of ours into one for users."""

    type: LogicalType

    def __call__(self, value: Any) -> Any:
        return to_user(value, self.type)


@dataclass(frozen=True)
class Inward:
    """Turns a value of users' into one of ours."""

    type: LogicalType

    def __call__(self, value: Any) -> Any:
        return from_user(value, self.type)


@dataclass(frozen=True)
class InwardRows:
    """Turns the rows that a table function emits into rows of ours."""

    type: LogicalType

    def __call__(self, emitted: Any) -> Iterator[Any]:
        for item in () if emitted is None else emitted:
            many = isinstance(item, tuple | list | Row)
            yield from_user(item if many else (item,), self.type)


@dataclass(frozen=True)
class Conversion:
    """The two directions for one type."""

    outward: Outward
    inward: Inward


def converts_between(t: LogicalType) -> Conversion | None:
    """Return how values of a type are converted, or None if they are the same for users."""
    return Conversion(Outward(t), Inward(t)) if _has_rows(t) else None


def _has_rows(t: LogicalType) -> bool:
    return isinstance(t, RowType) or any(map(_has_rows, t.children()))


def to_user(value: Any, t: LogicalType) -> Any:
    """Return a value with each ROW as a `Row` that has the type's names."""
    if value is None or not _has_rows(t):
        return value
    if isinstance(t, RowType):
        pairs = zip(value, t.children(), strict=True)
        row = Row(*(to_user(item, inner) for item, inner in pairs))
        row.set_field_names(t.names())
        return row
    if isinstance(t, ArrayType):
        return [to_user(item, t.element) for item in value]
    if isinstance(t, MapType):
        return {to_user(k, t.key): to_user(v, t.value) for k, v in value.items()}
    assert isinstance(t, MultisetType)
    return {to_user(item, t.element): count for item, count in value.items()}


def from_user(value: Any, t: LogicalType) -> Any:
    """Return a value with each ROW as a tuple. A dict is taken by the names of the fields."""
    if value is None or not _has_rows(t):
        return value
    if isinstance(t, RowType):
        if isinstance(value, dict):
            value = [value.get(name) for name in t.names()]
        return tuple(from_user(v, inner) for v, inner in zip(value, t.children(), strict=True))
    if isinstance(t, ArrayType):
        return [from_user(item, t.element) for item in value]
    if isinstance(t, MapType):
        return {from_user(k, t.key): from_user(v, t.value) for k, v in value.items()}
    assert isinstance(t, MultisetType)
    return {from_user(item, t.element): count for item, count in value.items()}
