"""Rows that a program collects from a query."""

from __future__ import annotations

from typing import Any

from penstock.common import Row, RowKind
from penstock.core.sql.casts import float32_text
from penstock.graph.relational import types as t


class ResultRow(Row):
    """A row of a result. PyFlink's have no names: they print and compare by values alone.

    Here the columns can be asked for by name as well.

    >>> row = result_row([1, "a"], ["id", "name"])
    >>> row, row == Row(1, "a"), row["name"]
    (<Row(1, 'a')>, True, 'a')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<Row({', '.join(map(repr, self))})>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return result_row, (list(self), self.get_field_names(), self.get_row_kind())


def result_row(
    values: list[Any], names: list[str] | None, kind: RowKind = RowKind.INSERT
) -> ResultRow:
    """Return a row with its kind."""
    row = ResultRow(*values)
    if names is not None:
        row.set_field_names(names)
    row.set_row_kind(kind)
    return row


def to_result(value: Any, kind: t.LogicalType) -> Any:
    """Return a value as the program gets it: rows inside it as well, FLOATs without more digits."""
    if value is None:
        return None
    if isinstance(kind, t.RowType):
        pairs = zip(value, kind.children(), strict=True)
        return result_row([to_result(item, inner) for item, inner in pairs], kind.names())
    if isinstance(kind, t.FloatType):
        return float(float32_text(value))
    if isinstance(kind, t.ArrayType):
        return [to_result(item, kind.element) for item in value]
    if isinstance(kind, t.MapType):
        return {to_result(k, kind.key): to_result(v, kind.value) for k, v in value.items()}
    if isinstance(kind, t.MultisetType):
        return {to_result(item, kind.element): count for item, count in value.items()}
    return value


def is_converted(kind: t.LogicalType) -> bool:
    """Tell whether values of a type are not what the program gets."""
    return isinstance(kind, t.RowType | t.FloatType) or any(map(is_converted, kind.children()))
