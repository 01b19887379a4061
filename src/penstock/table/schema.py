"""Columns, keys and watermarks of a table, built step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table.catalog_table import Column
from penstock.table.sql.parser import parse_expression
from penstock.table.sql.type_parser import parse_type


class Schema:
    """What is known of a table's columns.

    >>> schema = Schema.new_builder().column("id", "INT").primary_key("id").build()
    >>> [column.name for column in schema.columns]
    ['id']
    """

    def __init__(
        self,
        columns: tuple[Column, ...] = (),
        watermark: tuple[str, Any, str] | None = None,
        key: tuple[str, ...] = (),
        key_name: str | None = None,
    ) -> None:
        self.columns = columns
        self.watermark = watermark
        self.key = key
        self.key_name = key_name

    def __str__(self) -> str:
        lines = [_column_text(column) for column in self.columns]
        if self.watermark is not None:
            lines.append(f"WATERMARK FOR `{self.watermark[0]}` AS [{self.watermark[2]}]")
        if self.key:
            keys = ", ".join(f"`{name}`" for name in self.key)
            name = self.key_name or f"PK_{'_'.join(self.key)}"
            lines.append(f"CONSTRAINT `{name}` PRIMARY KEY ({keys}) NOT ENFORCED")
        return "(\n" + ",\n".join(f"  {line}" for line in lines) + "\n)"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @staticmethod
    def new_builder() -> Schema.Builder:
        """Return a builder."""
        return Schema.Builder()

    class Builder:
        """Build a schema."""

        def __init__(self) -> None:
            self._columns: list[Column] = []
            self._watermark: tuple[str, Any, str] | None = None
            self._key: tuple[str, ...] = ()
            self._key_name: str | None = None

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Take everything over from another schema."""
            self._columns += unresolved_schema.columns
            self._watermark = self._watermark or unresolved_schema.watermark
            self._key = self._key or unresolved_schema.key
            return self

        def from_row_data_type(self, data_type: t.RowType) -> Schema.Builder:
            """Take the fields of a row type as columns."""
            self._columns += [Column(field.name, field.type) for field in data_type.fields]
            return self

        def from_fields(
            self, field_names: Sequence[str], field_data_types: Sequence[Any]
        ) -> Schema.Builder:
            """Add columns by names and types."""
            for name, kind in zip(field_names, field_data_types, strict=True):
                self.column(name, kind)
            return self

        def column(self, column_name: str, data_type: Any) -> Schema.Builder:
            """Add a physical column; the type is a DataType or its SQL text."""
            written = data_type if isinstance(data_type, str) else None
            self._columns.append(Column(column_name, as_type(data_type), written=written))
            return self

        def with_comment(self, comment: str | None) -> Schema.Builder:
            """Give the column that was added last a comment."""
            if not self._columns:
                raise ValidationError(
                    "there is no column yet to comment on", todo="call column(...) first"
                )
            self._columns[-1] = replace(self._columns[-1], comment=comment)
            return self

        def column_by_expression(self, column_name: str, expr: Any) -> Schema.Builder:
            """Add a column that is computed from others."""
            self._columns.append(
                Column(column_name, expression=as_tree(expr), expression_text=str(expr))
            )
            return self

        def column_by_metadata(
            self, column_name: str, data_type: Any, metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Schema.Builder:  # fmt: skip
            """Add a column of what the connector knows beside the row."""
            self._columns.append(
                Column(
                    column_name, as_type(data_type), metadata=metadata_key or column_name,
                    virtual=is_virtual,
                )
            )  # fmt: skip
            return self

        def watermark(self, column_name: str, watermark_expr: Any) -> Schema.Builder:
            """Make a column the rowtime, with watermarks from an expression."""
            self._watermark = (column_name, as_tree(watermark_expr), str(watermark_expr))
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """Set the primary key."""
            self._key = tuple(column_names)
            return self

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """Set the primary key, with a name."""
            self._key_name = constraint_name
            return self.primary_key(*column_names)

        def build(self) -> Schema:
            """Return the schema."""
            return Schema(tuple(self._columns), self._watermark, self._key, self._key_name)


def _column_text(column: Column) -> str:
    """Return a column as Flink shows it before types are looked up: these stand in brackets."""
    text = f"`{column.name}`"
    if column.expression is not None:
        text += f" AS [{column.expression_text}]"
    elif column.written is not None:
        text += f" [{column.written}]"
    else:
        text += f" {column.type}"
    if column.metadata is not None:
        key = "" if column.metadata == column.name else f" FROM '{column.metadata}'"
        text += f" METADATA{key}" + (" VIRTUAL" if column.virtual else "")
    return text if column.comment is None else f"{text} COMMENT '{column.comment}'"


def as_type(data_type: Any) -> t.LogicalType:
    """Return a type that was given as such or as text."""
    if isinstance(data_type, t.LogicalType):
        return data_type
    if isinstance(data_type, str):
        return parse_type(data_type)
    raise ValidationError(
        "this is no type", got=repr(data_type), todo="pass a DataType, or its SQL text"
    )


def as_tree(expression: Any) -> Any:
    """Return an expression that was given as text or as an Expression."""
    return parse_expression(expression) if isinstance(expression, str) else expression
