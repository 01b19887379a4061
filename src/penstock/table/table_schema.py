"""The columns of a table as names and types: PyFlink's `pyflink.table.table_schema`."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.graph.relational import types as t

__all__ = ["TableSchema"]


class TableSchema:
    """Names and types of columns, in order.

    >>> from penstock.table.types import DataTypes
    >>> TableSchema.builder().field("id", DataTypes.INT()).build().get_field_names()
    ['id']
    """

    def __init__(self, field_names: Sequence[str], data_types: Sequence[t.LogicalType]) -> None:
        pairs = zip(field_names, data_types, strict=True)
        self._row = t.RowType.of(*pairs, is_nullable=False)

    @staticmethod
    def of(row: t.RowType) -> TableSchema:
        """Return the fields of a row type as columns."""
        return TableSchema(row.names(), row.children())

    def copy(self) -> TableSchema:
        """Return the same columns."""
        return TableSchema.of(self._row)

    def get_field_names(self) -> list[str]:
        """Return the names of the columns."""
        return self._row.names()

    def get_field_data_types(self) -> list[t.LogicalType]:
        """Return the types of the columns."""
        return list(self._row.children())

    def get_field_count(self) -> int:
        """Return how many columns there are."""
        return len(self._row.fields)

    def get_field_name(self, field_index: int) -> str | None:
        """Return the name of a column by its place, None if there is no such place."""
        names = self._row.names()
        return names[field_index] if 0 <= field_index < len(names) else None

    def get_field_data_type(self, field: int | str) -> t.LogicalType | None:
        """Return the type of a column by place or name, None if there is no such column."""
        if not isinstance(field, int | str):
            raise TypeError(f"Expected field index or field name, got {type(field)}")
        place = field if isinstance(field, int) else self._row.index(field)
        if place is None or not 0 <= place < len(self._row.fields):
            return None
        return self._row.fields[place].type

    def to_row_data_type(self) -> t.RowType:
        """Return the columns as one ROW type."""
        return self._row

    def __repr__(self) -> str:
        lines = [f" |-- {field.name}: {field.type}" for field in self._row.fields]
        return "\n".join(["root", *lines, ""])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableSchema) and self._row == other._row

    def __hash__(self) -> int:
        return hash(self._row)

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """Return a builder."""
        return TableSchema.Builder()

    class Builder:
        """Build a schema column by column."""

        def __init__(self) -> None:
            self._names: list[str] = []
            self._types: list[t.LogicalType] = []

        def field(self, name: str, data_type: t.LogicalType) -> TableSchema.Builder:
            """Add a column."""
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            """Return the schema."""
            return TableSchema(self._names, self._types)
