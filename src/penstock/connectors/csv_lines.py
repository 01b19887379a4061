"""CSV as Flink's DataSet API reads it: one record per line, fields with types."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.connectors.file_source.file_format import FileFormat, FilePiece
from penstock.connectors.file_source.text_lines import LineReader, line_blocks, line_number
from penstock.errors import ConfigurationError, SourceError, show_value

Parse = Callable[[str], Any]


def _boolean(text: str) -> bool:
    value = text.strip().lower()
    if value not in ("true", "false", "1", "0"):
        raise ValueError(f"not a truth value: {text!r}")
    return value in ("true", "1")


_BY_CLASS: dict[type, Parse] = {
    str: str,
    int: int,
    float: float,
    bool: _boolean,
    Decimal: Decimal,
    bytes: str.encode,
}
_BY_NAME: dict[str, Parse] = {
    "String": str,
    "Boolean": _boolean,
    "BigDecimal": Decimal,
    **dict.fromkeys(("Byte", "Short", "Integer", "Long", "BigInteger"), int),
    **dict.fromkeys(("Float", "Double"), float),
}


def parser_of(kind: type | TypeInformation) -> Parse:
    """Return what reads a field of a type.

    :raises ConfigurationError: if a field of a CSV file cannot be of that type.
    """
    parse = _BY_CLASS.get(kind) if isinstance(kind, type) else _BY_NAME.get(str(kind))
    if parse is None:
        raise ConfigurationError(
            "a field of a CSV file cannot be of this type",
            where="read_csv_file()",
            got=show_value(kind),
            todo="use str, int, float, bool, Decimal, or Types.STRING() and its like",
        )
    return parse


@dataclass(frozen=True)
class CsvLayout:
    """How lines and fields are parted, and what is left out."""

    field_delimiter: str = ","
    quote: str | None = None
    comment_prefix: str | None = None
    ignore_first_line: bool = False
    ignore_invalid_lines: bool = False
    charset: str = "UTF-8"
    #: Which columns are read; None: the first ones, as many as there are types.
    included: tuple[bool, ...] | None = None


class CsvLineFormat(FileFormat):
    """Read the lines of CSV files as records. Large files are read in parallel.

    :param types: of the columns that are read.
    :param make: makes a record of the list of values.
    """

    def __init__(
        self, layout: CsvLayout, types: list[Any], make: Callable[[list[Any]], Any]
    ) -> None:
        self._layout = layout
        self._types = types
        self._make = make
        self._lines = LineReader(layout.charset)
        included = layout.included or (True,) * len(types)
        self._columns = [index for index, taken in enumerate(included) if taken]
        self._least = len(included)
        if len(self._columns) != len(types):
            raise ConfigurationError(
                "there must be one type for each column that is read",
                where="read_csv_file()",
                got=f"{len(types)} types, {len(self._columns)} columns",
                todo="give as many types as include_fields() includes columns",
            )

    def is_divisible(self, path: str) -> bool:
        return self._lines.is_divisible(path)

    def record_bytes(self, path: str, size: int) -> float:
        return self._lines.record_bytes(path, size)

    def read(self, piece: FilePiece) -> Iterator[list[Any]]:
        parsers = [parser_of(kind) for kind in self._types]
        for block in line_blocks(piece):
            lines = self._lines.decode(piece, block).split("\n")
            skip = 1 if self._layout.ignore_first_line and block.at == 0 else 0
            records = []
            for number, line in enumerate(lines[skip:], skip):
                line = line.removesuffix("\r")
                if not line or self._is_comment(line):
                    continue
                try:
                    records.append(self._make(self._values(line, parsers)))
                except (ValueError, ArithmeticError, csv.Error) as error:
                    if not self._layout.ignore_invalid_lines:
                        raise self._broken(piece, block.at, number, line, error) from None
            yield records

    def _is_comment(self, line: str) -> bool:
        prefix = self._layout.comment_prefix
        return prefix is not None and line.startswith(prefix)

    def _values(self, line: str, parsers: list[Parse]) -> list[Any]:
        delimiter = self._layout.field_delimiter
        if self._layout.quote is not None and self._layout.quote in line and len(delimiter) == 1:
            fields = next(
                csv.reader([line], delimiter=delimiter, quotechar=self._layout.quote, strict=True)
            )
        else:
            fields = line.split(delimiter)
        if len(fields) < self._least:
            raise ValueError(f"{len(fields)} fields, {self._least} are due")
        columns = zip(self._columns, parsers, strict=True)
        return [parse(fields[column]) for column, parse in columns]

    def _broken(
        self, piece: FilePiece, at: int, number: int, line: str, error: Exception
    ) -> SourceError:
        return SourceError(
            "a line of a CSV file cannot be read",
            where=f"{piece.path}, line {line_number(piece, at) + number}",
            got=f"{show_value(line)}: {error}",
            todo="correct the line or the types, or leave such lines out by ignore_invalid_lines()",
        )
