"""What a table's columns turned out to be: types, computed and metadata columns, watermark, key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from penstock.graph.relational import types as t

__all__ = [
    "Column",
    "ComputedColumn",
    "MetadataColumn",
    "PhysicalColumn",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]


@dataclass(frozen=True)
class Column:
    """A column of a table: name, type and comment."""

    _name: str
    _type: t.LogicalType
    _comment: str | None = None

    @staticmethod
    def physical(name: str, data_type: t.LogicalType) -> PhysicalColumn:
        """Return a column that the connector holds."""
        return PhysicalColumn(name, data_type)

    @staticmethod
    def metadata(
        name: str, data_type: t.LogicalType, metadata_key: str | None, is_virtual: bool
    ) -> MetadataColumn:
        """Return a column of what the connector knows beside the row."""
        return MetadataColumn(name, data_type, None, metadata_key, is_virtual)

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def get_data_type(self) -> t.LogicalType:
        """Return the type."""
        return self._type

    def get_comment(self) -> str | None:
        """Return the comment."""
        return self._comment

    def with_comment(self, comment: str | None) -> Column:
        """Return the column with another comment."""
        return replace(self, _comment=comment)

    def copy(self, new_type: t.LogicalType) -> Column:
        """Return the column with another type."""
        return replace(self, _type=new_type)

    def rename(self, new_name: str) -> Column:
        """Return the column with another name."""
        return replace(self, _name=new_name)

    def is_physical(self) -> bool:
        """Tell whether the connector holds the column."""
        return False

    def is_persisted(self) -> bool:
        """Tell whether INSERT writes the column."""
        return False

    def explain_extras(self) -> str | None:
        """Return how the column comes about, None if the connector holds it."""
        return None

    def as_summary_string(self) -> str:
        """Return the column as Flink prints it."""
        parts = [_quoted(self._name), self._type.as_summary_string()]
        extras = self.explain_extras()
        if extras:
            parts.append(extras)
        if self._comment is not None:
            parts.append(f"COMMENT '{self._comment}'")
        return " ".join(parts)

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True)
class PhysicalColumn(Column):
    """A column that the connector holds."""

    def is_physical(self) -> bool:
        return True

    def is_persisted(self) -> bool:
        return True


@dataclass(frozen=True)
class ComputedColumn(Column):
    """A column that is computed from others."""

    _expression: str = ""

    def get_expression(self) -> str:
        """Return the expression, as SQL."""
        return self._expression

    def explain_extras(self) -> str | None:
        return f"AS {self._expression}"


@dataclass(frozen=True)
class MetadataColumn(Column):
    """A column of what the connector knows beside the row."""

    _key: str | None = None
    _virtual: bool = False

    def is_virtual(self) -> bool:
        """Tell whether the column is read only."""
        return self._virtual

    def get_metadata_key(self) -> str | None:
        """Return the connector's name for it, None if it is the column's."""
        return self._key

    def is_persisted(self) -> bool:
        return not self._virtual

    def explain_extras(self) -> str | None:
        text = "METADATA" if self._key is None else f"METADATA FROM '{self._key}'"
        return f"{text} VIRTUAL" if self._virtual else text


@dataclass(frozen=True)
class WatermarkSpec:
    """A rowtime column and where its watermarks come from."""

    _column: str
    _expression: str
    _type: t.LogicalType

    def get_rowtime_attribute(self) -> str:
        """Return the column."""
        return self._column

    def get_watermark_expression(self) -> str:
        """Return the expression, as SQL."""
        return self._expression

    def as_summary_string(self) -> str:
        """Return the clause as Flink prints it."""
        return f"WATERMARK FOR {_quoted(self._column)}: {self._type} AS {self._expression}"

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True)
class UniqueConstraint:
    """A primary key."""

    _name: str
    _columns: tuple[str, ...]

    class ConstraintType(Enum):
        """Kinds of constraints."""

        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    @staticmethod
    def primary_key(name: str, columns: Sequence[str]) -> UniqueConstraint:
        """Return a primary key."""
        return UniqueConstraint(name, tuple(columns))

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def get_columns(self) -> list[str]:
        """Return the columns."""
        return list(self._columns)

    def is_enforced(self) -> bool:
        """Tell whether rows are checked: never."""
        return False

    def get_type(self) -> ConstraintType:
        """Return the kind."""
        return self.ConstraintType.PRIMARY_KEY

    def get_type_string(self) -> str:
        """Return the kind in SQL."""
        return "PRIMARY KEY"

    def as_summary_string(self) -> str:
        """Return the clause as Flink prints it."""
        keys = ", ".join(map(_quoted, self._columns))
        return f"CONSTRAINT {_quoted(self._name)} PRIMARY KEY ({keys}) NOT ENFORCED"

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True)
class ResolvedSchema:
    """Columns of a table with their types.

    >>> print(ResolvedSchema.physical(["id"], [t.INT]))
    (
      `id` INT
    )
    """

    _columns: tuple[Column, ...]
    _watermarks: tuple[WatermarkSpec, ...] = ()
    _key: UniqueConstraint | None = None

    @staticmethod
    def of(columns: Sequence[Column]) -> ResolvedSchema:
        """Return a schema of some columns."""
        return ResolvedSchema(tuple(columns))

    @staticmethod
    def physical(
        column_names: Sequence[str], column_data_types: Sequence[t.LogicalType]
    ) -> ResolvedSchema:
        """Return a schema of columns that the connector holds."""
        pairs = zip(column_names, column_data_types, strict=True)
        return ResolvedSchema(tuple(PhysicalColumn(name, kind) for name, kind in pairs))

    def get_column_count(self) -> int:
        """Return how many columns there are."""
        return len(self._columns)

    def get_columns(self) -> list[Column]:
        """Return the columns."""
        return list(self._columns)

    def get_column_names(self) -> list[str]:
        """Return the names of the columns."""
        return [column.get_name() for column in self._columns]

    def get_column_data_types(self) -> list[t.LogicalType]:
        """Return the types of the columns."""
        return [column.get_data_type() for column in self._columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """Return a column by place or name, None if there is no such column."""
        if isinstance(column_index_or_name, int):
            found = self._columns[column_index_or_name : column_index_or_name + 1]
        else:
            found = tuple(c for c in self._columns if c.get_name() == column_index_or_name)
        return found[0] if found else None

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        """Return the watermarks: one, or none."""
        return list(self._watermarks)

    def get_primary_key(self) -> UniqueConstraint | None:
        """Return the primary key."""
        return self._key

    def get_primary_key_indexes(self) -> list[int]:
        """Return the places of the key's columns."""
        names = self.get_column_names()
        return [] if self._key is None else [names.index(n) for n in self._key.get_columns()]

    def to_source_row_data_type(self) -> t.RowType:
        """Return all columns as one ROW type, as a query sees them."""
        return _row_of(self._columns)

    def to_physical_row_data_type(self) -> t.RowType:
        """Return the columns that the connector holds as one ROW type."""
        return _row_of([column for column in self._columns if column.is_physical()])

    def to_sink_row_data_type(self) -> t.RowType:
        """Return the columns that INSERT writes as one ROW type."""
        return _row_of([column for column in self._columns if column.is_persisted()])

    def __str__(self) -> str:
        parts: list[Column | WatermarkSpec | UniqueConstraint] = [*self._columns, *self._watermarks]
        if self._key is not None:
            parts.append(self._key)
        return "(\n" + ",\n".join(f"  {part}" for part in parts) + "\n)"


def _row_of(columns: Sequence[Column]) -> t.RowType:
    pairs = ((column.get_name(), column.get_data_type()) for column in columns)
    return t.RowType.of(*pairs, is_nullable=False)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
