"""Lines of text files, by ranges of bytes: a line belongs to the range in which it starts."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import IO, NamedTuple

from penstock.connectors.file_source.file_format import FilePiece
from penstock.connectors.file_source.opening import is_compressed, reading, sample
from penstock.errors import ConfigurationError, SourceError, show_value

_CHUNK = 1 << 18
_MARK = "\ufeff"
#: Further than any text goes: the length of what is unpacked is not known.
_ENDLESS = 1 << 62


class LineBlock(NamedTuple):
    """Whole lines, as they stand in a file."""

    #: Number of the first byte in the unpacked file.
    at: int
    data: bytes


class LineReader:
    r"""Read lines; `\n` ends one, and a `\r` in front of it is not part of the line.

    A mark of the byte order at the beginning of a file is not part of its first line.

    :param charset: name of the encoding.
    :raises ConfigurationError: if there is no such encoding.
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        try:
            self.charset = codecs.lookup(charset).name
            newline = "\n".encode(self.charset)
        except LookupError:
            raise ConfigurationError(
                "there is no such character encoding",
                where="charset of a text file",
                got=show_value(charset),
                todo="pass a name that Python knows, for instance UTF-8, ISO-8859-1 or GBK",
            ) from None
        # In UTF-16 and its like a byte of value 10 may be a part of any character.
        self._newline_is_a_byte = newline == b"\n"

    def is_divisible(self, path: str) -> bool:
        """Tell whether ranges of a file can be read."""
        return self._newline_is_a_byte and not is_compressed(path)

    def record_bytes(self, path: str, size: int) -> float:
        """Estimate the length of a line by the beginning of a file."""
        text, length = sample(path, size)
        # A line of nothing but its end has one byte; packed it may have next to none.
        return max(length / max(text.count(b"\n"), 1), 0.01)

    def read(self, piece: FilePiece) -> Iterator[list[str]]:
        """Yield the lines that start in a piece, many at once."""
        if not self._newline_is_a_byte:
            return self._wide_lines(piece)
        return (_split(self.decode(piece, block)) for block in line_blocks(piece))

    def decode(self, piece: FilePiece, block: LineBlock) -> str:
        """Return the text of a block.

        :raises SourceError: if it is not encoded as declared; it names line and byte.
        """
        try:
            text = str(block.data, self.charset)
        except UnicodeDecodeError as error:
            lines = _newlines(piece, block.at) + block.data.count(b"\n", 0, error.start)
            raise self._undecodable(piece, lines + 1, block.at + error.start, error) from None
        return text.removeprefix(_MARK) if block.at == 0 else text

    def _wide_lines(self, piece: FilePiece) -> Iterator[list[str]]:
        decoder = codecs.getincrementaldecoder(self.charset)()
        at, line, rest = 0, 1, ""
        with reading(piece) as file:
            left = _ENDLESS if is_compressed(piece.path) else piece.size
            while chunk := file.read(min(_CHUNK, left - at)):
                try:
                    text = rest + decoder.decode(chunk)
                except UnicodeDecodeError as error:
                    lines = line + _lines_before(error, self.charset)
                    byte = at + len(chunk) - len(error.object) + error.start
                    raise self._undecodable(piece, lines, byte, error) from None
                text = text.removeprefix(_MARK) if at == 0 else text
                at += len(chunk)
                whole, newline, rest = text.rpartition("\n")
                if newline:
                    line += whole.count("\n") + 1
                    yield _split(whole + newline)
            try:
                rest += decoder.decode(b"", True)
            except UnicodeDecodeError as error:
                byte = at - len(error.object) + error.start
                raise self._undecodable(piece, line, byte, error) from None
            if rest:
                yield _split(rest)

    def _undecodable(
        self, piece: FilePiece, line: int, byte: int, error: UnicodeDecodeError
    ) -> SourceError:
        return SourceError(
            f"a file is not encoded in {self.charset}",
            where=f"{piece.path}, line {line}, byte {byte}",
            got=f"0x{error.object[error.start : error.end].hex()}, {error.reason}",
            todo="name the file's encoding by the charset of the source, or repair the file",
        )


def line_blocks(piece: FilePiece) -> Iterator[LineBlock]:
    r"""Yield the lines that start in a piece, in large blocks; all but the last end in `\n`.

    :raises SourceError: if the file cannot be read.
    """
    with reading(piece) as file:
        packed = is_compressed(piece.path)
        end = _ENDLESS if packed else piece.end
        size = _ENDLESS if packed else piece.size
        at = _first_line(file, piece.start)
        while at < end:
            data = file.read(min(_CHUNK, end - at))
            if not data:
                return
            if not data.endswith(b"\n"):
                data += file.readline(size - at - len(data))
            yield LineBlock(at, data)
            at += len(data)


def line_number(piece: FilePiece, at: int) -> int:
    """Return the number, from 1, of the line that a byte of the unpacked file lies in."""
    return _newlines(piece, at) + 1


def _first_line(file: IO[bytes], start: int) -> int:
    """Go to the first line that starts at `start` or behind it."""
    if start == 0:
        return 0
    # The line that is under way at `start` belongs to whoever reads its first byte; one byte
    # earlier tells whether there is such a line at all.
    file.seek(start - 1)
    return start - 1 + len(file.readline())


def _split(text: str) -> list[str]:
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _lines_before(error: UnicodeDecodeError, charset: str) -> int:
    return error.object[: error.start].decode(charset, "replace").count("\n")


def _newlines(piece: FilePiece, end: int) -> int:
    """Count the newlines in front of a byte of the unpacked file."""
    count = 0
    with reading(piece) as file:
        while end > 0 and (chunk := file.read(min(_CHUNK, end))):
            count += chunk.count(b"\n")
            end -= len(chunk)
    return count
