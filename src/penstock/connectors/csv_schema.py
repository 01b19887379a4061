"""What a CSV file looks like: its columns and their types, separators, quotes, header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.common.type_information import declared_type
from penstock.common.typeinfo import RowTypeInfo, TypeInformation, Types
from penstock.errors import ConfigurationError, show_value

DEFAULT_ARRAY_SEPARATOR = ";"


@dataclass(frozen=True)
class CsvColumn:
    """One column. `separator` parts the elements of an array; None for a single value."""

    name: str
    type_info: TypeInformation
    separator: str | None = None


@dataclass(frozen=True)
class CsvSettings:
    """Everything about a CSV file but its columns. None for a character: there is none."""

    column_separator: str = ","
    quote_char: str | None = '"'
    escape_char: str | None = None
    line_separator: str = "\n"
    null_value: str | None = None
    array_element_separator: str = DEFAULT_ARRAY_SEPARATOR
    any_property_name: str | None = None
    use_header: bool = False
    strict_headers: bool = False
    skip_first_data_row: bool = False
    allow_comments: bool = False


class CsvSchema:
    """Columns and settings of a CSV file.

    >>> schema = (
    ...     CsvSchema.builder().add_number_column("id").add_string_column("name")
    ...     .set_column_separator("|").build()
    ... )
    >>> len(schema), schema.row_type
    (2, RowTypeInfo(id: Long, name: String))
    """

    def __init__(self, columns: Sequence[CsvColumn], settings: CsvSettings) -> None:
        self.columns = tuple(columns)
        self.settings = settings

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Return a builder."""
        return CsvSchemaBuilder()

    @property
    def row_type(self) -> RowTypeInfo:
        """The type of the records: a row with a field for each column."""
        types = [column.type_info for column in self.columns]
        return RowTypeInfo(types, [column.name for column in self.columns])

    def size(self) -> int:
        """Return how many columns there are."""
        return len(self.columns)

    def __len__(self) -> int:
        return self.size()

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name}: {column.type_info}" for column in self.columns)
        return f"CsvSchema({columns})"


class CsvSchemaBuilder:
    """Build a `CsvSchema`, column by column."""

    def __init__(self) -> None:
        self._columns: list[CsvColumn] = []
        self._settings = CsvSettings()

    def build(self) -> CsvSchema:
        """Return the schema."""
        default = self._settings.array_element_separator
        columns = [
            replace(column, separator=default) if column.separator == "" else column
            for column in self._columns
        ]
        return CsvSchema(columns, self._settings)

    def add_array_column(
        self,
        name: str,
        separator: str = DEFAULT_ARRAY_SEPARATOR,
        element_type: Any = None,
    ) -> CsvSchemaBuilder:
        """Add a column of lists.

        :param separator: what stands between the elements.
        :param element_type: type of the elements. Default: strings.
        """
        list_type = Types.LIST(declared_type(element_type or Types.STRING()))
        self._columns.append(CsvColumn(name, list_type, separator))
        return self

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of truth values."""
        return self._add(name, Types.BOOLEAN())

    def add_number_column(self, name: str, number_type: Any = None) -> CsvSchemaBuilder:
        """Add a column of numbers.

        :param number_type: `Types.INT()` or `DataTypes.INT()` and so on. Default: `Types.LONG()`.
        """
        return self._add(name, declared_type(number_type or Types.LONG()))

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of strings."""
        return self._add(name, Types.STRING())

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add all columns of another schema."""
        self._columns += schema.columns
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Remove all columns."""
        self._columns.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Leave out lines that start with `#`."""
        return self._set(allow_comments=allow)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Name the column that takes the values behind the last column; kept, without effect."""
        return self._set(any_property_name=name)

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Take the whole text of an array column as its only element."""
        return self.set_array_element_separator("")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Take the whole text of one array column as its only element.

        :param index: number of the column, from 0.
        """
        self._columns[index] = replace(self._columns[index], separator="")
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set what parts the elements of array columns whose own separator was removed."""
        return self._set(array_element_separator=separator)

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Set what parts the columns. Default: a comma.

        :raises ConfigurationError: if it is not one character.
        """
        return self._set(column_separator=_one_character("column separator", char))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Let no character take the meaning from the next one."""
        return self._set(escape_char=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character that takes the meaning from the next one. Default: none.

        :raises ConfigurationError: if it is not one character.
        """
        return self._set(escape_char=_one_character("escape character", char))

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        r"""Set what ends a line that is written. `\n`, `\r` and `\r\n` end one that is read."""
        return self._set(line_separator=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Set the text that stands for None."""
        return self._set(null_value=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Let no character quote a value."""
        return self._set(quote_char=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character around a value that holds a separator. Default: a double quote.

        :raises ConfigurationError: if it is not one character.
        """
        return self._set(quote_char=_one_character("quote character", char))

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Leave out the first row of every file."""
        return self._set(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Fail if the names in a file's header are not those of the schema, in this order."""
        return self._set(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Take the first line of every file as the names of its columns, and write one."""
        return self._set(use_header=use)

    def size(self) -> int:
        """Return how many columns there are so far."""
        return len(self._columns)

    def __len__(self) -> int:
        return self.size()

    def _add(self, name: str, type_info: TypeInformation) -> CsvSchemaBuilder:
        self._columns.append(CsvColumn(name, type_info))
        return self

    def _set(self, **changes: object) -> CsvSchemaBuilder:
        self._settings = replace(self._settings, **changes)  # type: ignore[arg-type]
        return self


def _one_character(what: str, char: str) -> str:
    if len(char) != 1:
        raise ConfigurationError(
            f"the {what} of a CSV file must be one character",
            where="CsvSchemaBuilder",
            got=show_value(char),
        )
    return char
