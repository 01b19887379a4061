"""What a format is: rows as bytes, and bytes as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import SourceError, ValidationError, show_value
from penstock.graph.relational import types as t


@dataclass(frozen=True)
class FormatContext:
    """A format as a table asks for it.

    :param name: its identifier.
    :param prefix: what stands in front of its options in the WITH clause: `json.`, `key.json.`.
    :param options: its options, without the prefix.
    :param metadata: keys of the format's own metadata that the table reads; their values stand
        behind the columns.
    """

    name: str
    table: str
    schema: t.RowType
    options: dict[str, str] = field(default_factory=dict)
    prefix: str = ""
    metadata: tuple[str, ...] = ()
    topic: str = ""

    def flag(self, key: str, default: bool = False) -> bool:
        """Return an option that is true or false."""
        text = self.options.get(key)
        if text is None:
            return default
        if text.strip().lower() not in ("true", "false"):
            raise self.wrong(key, "use 'true' or 'false'")
        return text.strip().lower() == "true"

    def choice(self, key: str, default: str, *values: str) -> str:
        """Return an option that is one of some words."""
        text = self.options.get(key, default)
        for value in values:
            if value.lower() == text.strip().lower():
                return value
        raise self.wrong(key, f"use one of: {', '.join(values)}")

    def character(self, key: str, default: str | None) -> str | None:
        """Return an option that is one character."""
        text = self.options.get(key)
        if text is None:
            return default
        found = text if len(text) == 1 else text.encode().decode("unicode_escape")
        if len(found) != 1:
            raise self.wrong(key, "use one character")
        return found

    def wrong(self, key: str, todo: str) -> ValidationError:
        """Return the error for an option that has no such value."""
        return ValidationError(
            f"the option '{self.prefix}{key}' has no such value",
            where=f"table {self.table}",
            got=show_value(self.options[key]),
            todo=todo,
        )

    def required(self, key: str) -> str:
        """Return an option that must be there."""
        value = self.options.get(key)
        if value is None:
            raise ValidationError(
                f"the format {self.name!r} needs the option '{self.prefix}{key}'",
                where=f"table {self.table}",
                todo=f"add '{self.prefix}{key}' = '...' to the WITH clause",
            )
        return value


class RowFormat:
    """How rows are written as bytes, and read again. Pickled with the source and the sink."""

    #: Which changes it has; a format with more than inserts has the kind behind the columns.
    kinds: frozenset[str] = frozenset("I")
    #: Whether a line of a file is a record.
    lines = True

    def __init__(self, context: FormatContext) -> None:
        self.context = context

    def __reduce__(self) -> Any:
        return type(self), (self.context,)

    def decode(self, data: bytes) -> list[tuple[Any, ...]]:
        """Return the rows of a message."""
        raise TypeError("abstract")

    def decode_line(self, line: str) -> list[tuple[Any, ...]]:
        """Return the rows of a line of a file."""
        return self.decode(line.encode())

    def decode_lines(self, lines: list[str]) -> list[tuple[Any, ...]]:
        """Return the rows of many lines of a file."""
        decode = self.decode_line
        return [row for line in lines for row in decode(line)]

    def encode(self, row: Sequence[Any]) -> bytes | None:
        """Return a row as a message; None for a message without content."""
        raise TypeError("abstract")

    def unreadable(self, data: Any, error: Exception) -> SourceError:
        """Return the error for what is no row of this format."""
        name, todo = self.context.name, "correct the data or the table's columns"
        if name not in ("raw", "avro", "avro-confluent"):
            todo += f", or set '{self.context.prefix}ignore-parse-errors' = 'true'"
        return SourceError(
            f"this is no row in the format {name}: {error}", got=show_value(data), todo=todo
        )


class TextFormat(RowFormat):
    """A format of text in UTF-8."""

    def decode(self, data: bytes) -> list[tuple[Any, ...]]:
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise self.unreadable(data, error) from None
        return self.decode_line(text)

    def decode_line(self, line: str) -> list[tuple[Any, ...]]:
        raise TypeError("abstract")

    def encode(self, row: Sequence[Any]) -> bytes:
        return self.encode_line(row).encode()

    def encode_line(self, row: Sequence[Any]) -> str:
        """Return a row as a line, without its end."""
        raise TypeError("abstract")
