"""`csv`: values with commas between them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table.factories.formats.base import FormatContext, TextFormat
from penstock.table.factories.formats.json_format import exact_text
from penstock.table.factories.formats.text_values import text_reader, text_writer


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
        out = io.StringIO()
        csv.writer(out, lineterminator="", **self._dialect).writerow(cells)
        return out.getvalue()


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
