"""JSON lines: files with one JSON value on each line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from penstock.common.typeinfo import RowTypeInfo, TypeInformation
from penstock.connectors.file_source.file_format import FilePiece
from penstock.connectors.file_source.records import converter
from penstock.connectors.file_source.stream_format import StreamFormat
from penstock.connectors.file_source.text_lines import LineReader, line_blocks, line_number
from penstock.errors import SourceError, show_value


class JsonLinesFormat(StreamFormat):
    """Read JSON lines; blank lines are left out. Large files are read in parallel.

    :param type_info: a ROW type makes rows of the objects, with None for what an object lacks;
        without it objects are dicts.

    >>> JsonLinesFormat().produced_type is None
    True
    """

    def __init__(self, type_info: TypeInformation | None = None) -> None:
        self._lines = LineReader("UTF-8")
        self._row_type = type_info if isinstance(type_info, RowTypeInfo) else None
        self.produced_type = type_info

    def is_divisible(self, path: str) -> bool:
        return self._lines.is_divisible(path)

    def record_bytes(self, path: str, size: int) -> float:
        return self._lines.record_bytes(path, size)

    def read(self, piece: FilePiece) -> Iterator[list[Any]]:
        convert = None if self._row_type is None else converter(self._row_type)
        for block in line_blocks(piece):
            text = self._lines.decode(piece, block)
            lines = text.split("\n")
            try:
                values = [json.loads(line) for line in lines if line and not line.isspace()]
                yield values if convert is None else list(map(convert, values))
            except (ValueError, AttributeError, TypeError):
                raise self._broken(piece, block.at, lines) from None

    def _broken(self, piece: FilePiece, at: int, lines: list[str]) -> SourceError:
        """Say which line could not be used, and why."""
        what, got, number = "a line is not JSON", "", 0
        for number, line in enumerate(lines):  # noqa: B007 - the one it ends with is meant
            try:
                if line.strip() and not isinstance(json.loads(line), dict) and self._row_type:
                    what, got = "a line is no JSON object", show_value(line)
                    break
            except ValueError as error:
                got = f"{error}: {show_value(line)}"
                break
        return SourceError(
            what,
            where=f"{piece.path}, line {line_number(piece, at) + number}",
            got=got,
            todo="correct the file",
        )
