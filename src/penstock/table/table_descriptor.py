"""Tables described in Python rather than in CREATE TABLE."""

from __future__ import annotations

from typing import Any

from penstock.graph.relational import types as t
from penstock.table.catalog_table import CatalogTable, Column
from penstock.table.schema import Schema


class FormatDescriptor:
    """A format with its options.

    >>> FormatDescriptor.for_format("json").option("ignore-parse-errors", "true").build()
    json[{ignore-parse-errors=true}]
    """

    def __init__(self, format: str, options: dict[str, str]) -> None:
        self._format = format
        self._options = options

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """Return a builder."""
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        """Return the name."""
        return self._format

    def get_options(self) -> dict[str, str]:
        """Return the options."""
        return dict(self._options)

    def __repr__(self) -> str:
        return f"{self._format}[{{{', '.join(f'{k}={v}' for k, v in self._options.items())}}}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatDescriptor) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    class Builder:
        """Build a format."""

        def __init__(self, format: str) -> None:
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: Any, value: Any) -> FormatDescriptor.Builder:
            """Set an option."""
            self._options[_key(key)] = _text(value)
            return self

        def build(self) -> FormatDescriptor:
            """Return the format."""
            return FormatDescriptor(self._format, self._options)


class TableDescriptor:
    """A table: connector, columns, options.

    >>> TableDescriptor.for_connector("print").option("print-identifier", "x").build().get_options()
    {'connector': 'print', 'print-identifier': 'x'}
    """

    def __init__(
        self, schema: Schema | None, options: dict[str, str], partition_keys: tuple[str, ...],
        comment: str | None,
    ) -> None:  # fmt: skip
        self._schema = schema
        self._options = options
        self._partition_keys = partition_keys
        self._comment = comment

    def __str__(self) -> str:
        text = "" if self._schema is None else f"{self._schema}\n"
        if self._comment is not None:
            text += f"COMMENT '{self._comment}'\n"
        if self._partition_keys:
            text += f"PARTITIONED BY ({', '.join(f'`{key}`' for key in self._partition_keys)})\n"
        options = ",\n".join(f"  '{key}' = '{value}'" for key, value in self._options.items())
        return f"{text}WITH (\n{options}\n)"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableDescriptor) and (
            (self._schema, self._options, self._partition_keys, self._comment)
            == (other._schema, other._options, other._partition_keys, other._comment)
        )

    def __hash__(self) -> int:
        return hash(str(self))

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """Return a builder."""
        return TableDescriptor.Builder(connector)

    def get_schema(self) -> Schema | None:
        """Return the columns, None if they follow from the query."""
        return self._schema

    def get_options(self) -> dict[str, str]:
        """Return the options."""
        return dict(self._options)

    def get_partition_keys(self) -> list[str]:
        """Return the columns that part the table."""
        return list(self._partition_keys)

    def get_comment(self) -> str | None:
        """Return the comment."""
        return self._comment

    def table(self, t_env: Any, name: str, of_query: t.RowType | None = None) -> CatalogTable:
        """Return the table as a catalog holds it."""
        schema = self._schema
        if schema is None or not schema.columns:
            fields = () if of_query is None else of_query.fields
            schema = Schema(tuple(Column(field.name, field.type) for field in fields))
        return CatalogTable(
            schema.columns, dict(self._options), schema.key, schema.watermark,
            self._partition_keys, self._comment, name, True,
        )  # fmt: skip

    class Builder:
        """Build a table."""

        def __init__(self, connector: str) -> None:
            self._schema: Schema | None = None
            self._options = {"connector": connector}
            self._partition_keys: tuple[str, ...] = ()
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """Set the columns."""
            self._schema = schema
            return self

        def option(self, key: Any, value: Any) -> TableDescriptor.Builder:
            """Set an option."""
            self._options[_key(key)] = _text(value)
            return self

        def format(
            self, format: str | FormatDescriptor, format_option: Any = None
        ) -> TableDescriptor.Builder:
            """Set the format."""
            option = "format" if format_option is None else _key(format_option)
            if isinstance(format, FormatDescriptor):
                prefix = option.removesuffix("format")
                self._options[option] = format.get_format()
                for key, value in format.get_options().items():
                    self._options[f"{prefix}{format.get_format()}.{key}"] = value
            else:
                self._options[option] = format
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """Set the columns that part the table."""
            self._partition_keys = tuple(partition_keys)
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            """Set the comment."""
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            """Return the table."""
            return TableDescriptor(self._schema, self._options, self._partition_keys, self._comment)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(key.key)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
