"""The two kinds of file format that PyFlink names, and the first of all formats: lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common.typeinfo import Types
from penstock.connectors.file_source.file_format import FileFormat, FilePiece
from penstock.connectors.file_source.text_lines import LineReader


class StreamFormat(FileFormat):
    """A format that is read from front to back, compressed or not.

    >>> StreamFormat.text_line_format("ISO-8859-1").produced_type
    String
    """

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Return the format of lines of text.

        :param charset_name: name of the files' encoding.
        :raises ConfigurationError: if there is no such encoding.
        """
        return TextLineFormat(charset_name)


class BulkFormat(FileFormat):
    """A format whose files have an index of their own, such as Parquet."""


class TextLineFormat(StreamFormat):
    """Lines of text, each a string."""

    produced_type = Types.STRING()

    def __init__(self, charset: str = "UTF-8") -> None:
        self._lines = LineReader(charset)

    def is_divisible(self, path: str) -> bool:
        return self._lines.is_divisible(path)

    def record_bytes(self, path: str, size: int) -> float:
        return self._lines.record_bytes(path, size)

    def read(self, piece: FilePiece) -> Iterator[list[Any]]:
        return self._lines.read(piece)
