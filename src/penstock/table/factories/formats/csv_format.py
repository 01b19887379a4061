"""`csv`: values with commas between them."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Callable, Sequence
from typing import Any

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table.factories.formats.base import FormatContext, TextFormat
from penstock.table.factories.formats.json_format import exact_text
from penstock.table.factories.formats.text_values import column_reader, text_reader, text_writer


class CsvFormat(TextFormat):
    """A line a row."""

    options = frozenset({
        "field-delimiter", "disable-quote-character", "quote-character", "allow-comments",
        "ignore-parse-errors", "array-element-delimiter", "escape-character", "null-literal",
        "write-bigdecimal-in-scientific-notation",
    })  # fmt: skip

    def __init__(self, context: FormatContext) -> None:
        super().__init__(context)
        plain = context.flag("disable-quote-character")
        if plain and "quote-character" in context.options:
            raise ValidationError(
                f"'{context.prefix}quote-character' is given, and quotes are disabled",
                where=f"table {context.table}",
                todo=f"leave out '{context.prefix}disable-quote-character'",
            )
        escape = context.character("escape-character", None)
        self._dialect: dict[str, Any] = {
            "delimiter": context.character("field-delimiter", ","),
            "quotechar": context.character("quote-character", '"'),
            "quoting": csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL,
            "escapechar": escape or ("\\" if plain else None),
        }
        self._null = context.options.get("null-literal")
        self._quiet = context.flag("ignore-parse-errors")
        self._comments = context.flag("allow-comments")
        inner = context.options.get("array-element-delimiter", ";")
        scientific = context.flag("write-bigdecimal-in-scientific-notation", True)
        kinds = context.schema.children()
        self._readers = [_reader(kind, inner) for kind in kinds]
        self._column_readers = [
            column_reader(k, r) for k, r in zip(kinds, self._readers, strict=True)
        ]
        # What may stand in a line that is not just cut at the delimiters. A single empty value
        # cannot be told from an empty line.
        self._special = ["\r", *([] if plain else [self._dialect["quotechar"]])]
        self._has_columns = len(kinds) > 1 and not (
            self._dialect["escapechar"] or self._comments or self._quiet
        )
        self._lines: Any = csv.writer(_Echo(), lineterminator="", **self._dialect)
        self._writers = [_writer(kind, inner, scientific) for kind in kinds]

    def decode_line(self, line: str) -> list[tuple[Any, ...]]:
        if not line.strip() or (self._comments and line.startswith("#")):
            return []
        try:
            cells = next(csv.reader([line], **self._dialect))
            if len(cells) != len(self._readers) and not self._quiet:
                raise ValueError(f"{len(cells)} values for {len(self._readers)} columns")
        except (ValueError, csv.Error) as error:
            if self._quiet:
                return []
            raise self.unreadable(line, error) from None
        if self._quiet:
            cells += [""] * (len(self._readers) - len(cells))
            return [tuple(map(self._read_quietly, cells, self._readers))]
        try:
            return [tuple(map(self._read, cells, self._readers))]
        except (ValueError, ArithmeticError) as error:
            raise self.unreadable(line, error) from None

    def decode_lines(self, lines: list[str]) -> list[tuple[Any, ...]]:
        """Return the rows of lines, column by column where nothing is quoted or wrong."""
        text = "\n".join(lines)
        if self._has_columns and not any(mark in text for mark in self._special):
            with contextlib.suppress(ValueError, ArithmeticError):
                return self._columns(lines)
        return super().decode_lines(lines)

    def _columns(self, lines: list[str]) -> list[tuple[Any, ...]]:
        """Read all lines at once.

        :raises ValueError: if one of them is not right; line by line it is told which.
        """
        delimiter = self._dialect["delimiter"]
        cells = zip(*[line.split(delimiter) for line in lines], strict=True)
        columns: list[Sequence[Any]] = []
        for column, whole, read in zip(cells, self._column_readers, self._readers, strict=True):
            if (self._null is not None and self._null in column) or "" in column:
                columns.append([self._read(cell, read) for cell in column])
            else:
                columns.append(whole(column))
        return list(zip(*columns, strict=True))

    def _read(self, cell: str, read: Callable[[str], Any]) -> Any:
        if cell == self._null or (cell == "" and read is not str):
            return None
        return read(cell)

    def _read_quietly(self, cell: str, read: Callable[[str], Any]) -> Any:
        try:
            return self._read(cell, read)
        except (ValueError, ArithmeticError):
            return None

    def encode_line(self, row: Sequence[Any]) -> str:
        null = self._null or ""
        cells = [
            null if value is None else write(value)
            for value, write in zip(row, self._writers, strict=True)
        ]
        line: str = self._lines.writerow(cells)
        return line


class _Echo:
    """A file that hands back what is written to it, as does the writer of rows then."""

    def write(self, text: str) -> str:
        return text


def _reader(kind: t.LogicalType, delimiter: str) -> Callable[[str], Any]:
    if isinstance(kind, t.ArrayType):
        read = text_reader(kind.element)
        return lambda text: [read(item) for item in text.split(delimiter)]
    if isinstance(kind, t.RowType):
        readers = [text_reader(each) for each in kind.children()]
        return lambda text: tuple(
            read(item) for read, item in zip(readers, text.split(delimiter), strict=True)
        )
    return text_reader(kind)


def _writer(kind: t.LogicalType, delimiter: str, scientific: bool) -> Callable[[Any], str]:
    if isinstance(kind, t.ArrayType):
        write = _writer(kind.element, delimiter, scientific)
        return lambda value: delimiter.join("" if v is None else write(v) for v in value)
    if isinstance(kind, t.RowType):
        writers = [_writer(each, delimiter, scientific) for each in kind.children()]
        return lambda value: delimiter.join(
            "" if v is None else w(v) for w, v in zip(writers, value, strict=True)
        )
    if isinstance(kind, t.DecimalType):
        return lambda value: exact_text(value, plain=not scientific)
    return text_writer(kind)
