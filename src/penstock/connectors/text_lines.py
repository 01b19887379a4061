"""Lines of text files, by ranges of bytes: a line belongs to the range in which it starts."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

from penstock.errors import ConfigurationError, SourceError, show_value

_CHUNK = 1 << 18
_OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".gzip": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
_UTF8_MARK = codecs.BOM_UTF8
_ANOTHER_FILE = (
    "the file must stay as it is, and at the same path on every worker, while it is read"
)


class LineFormat:
    r"""Read lines; `\n` ends one, and a `\r` in front of it is not part of the line.

    :param charset: name of the encoding.
    :raises ConfigurationError: if there is no such encoding.
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        try:
            self._charset = codecs.lookup(charset).name
            newline = "\n".encode(self._charset)
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
        """Tell whether ranges of the file can be read, or only the whole."""
        return self._newline_is_a_byte and _opener(path) is None

    def read(self, path: str, start: int, end: int) -> Iterator[list[str]]:
        """Yield the lines that start at a byte from `start` on and in front of `end`.

        :raises SourceError: if the file cannot be read or decoded, or has become shorter.
        """
        try:
            size = os.path.getsize(path)
            if size < end:
                raise SourceError(
                    "a file has become shorter while it was being read",
                    where=path,
                    got=f"{size} bytes, {end} bytes when the job started",
                    todo=_ANOTHER_FILE,
                )
            with (_opener(path) or open)(path, "rb") as file:
                if self._newline_is_a_byte:
                    whole = _opener(path) is not None
                    yield from self._lines(path, file, start, None if whole else end)
                else:
                    yield from self._wide_lines(path, file)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise SourceError(
                "a file cannot be read",
                where=path,
                got=f"{type(error).__name__}: {error}",
                todo=_ANOTHER_FILE,
            ) from error

    def _lines(
        self, path: str, file: IO[bytes], start: int, end: int | None
    ) -> Iterator[list[str]]:
        at = start
        if start > 0:
            # The line that is under way at `start` belongs to whoever reads its first byte; one
            # byte earlier tells whether there is such a line at all.
            file.seek(start - 1)
            at = start - 1 + len(file.readline())
        while end is None or at < end:
            chunk = file.read(_CHUNK if end is None else min(_CHUNK, end - at))
            if not chunk:
                return
            if not chunk.endswith(b"\n"):
                chunk += file.readline()
            yield _split(self._decode(path, chunk, at))
            at += len(chunk)

    def _decode(self, path: str, chunk: bytes, at: int) -> str:
        skip = len(_UTF8_MARK) if at == 0 and chunk.startswith(_UTF8_MARK) else 0
        skip = skip if self._charset == "utf-8" else 0
        try:
            return str(memoryview(chunk)[skip:], self._charset)
        except UnicodeDecodeError as error:
            byte = at + skip + error.start
            line = _newlines(path, at) + chunk.count(b"\n", 0, skip + error.start) + 1
            raise self._undecodable(path, line, f"byte {byte}", error) from None

    def _wide_lines(self, path: str, file: IO[bytes]) -> Iterator[list[str]]:
        text = io.TextIOWrapper(file, encoding=self._charset, newline="\n")
        line = 1
        try:
            while lines := text.readlines(_CHUNK):
                yield _split("".join(lines))
                line += len(lines)
        except UnicodeError as error:
            raise self._undecodable(path, line, "at or behind it", error) from None

    def _undecodable(self, path: str, line: int, place: str, error: UnicodeError) -> SourceError:
        found = ""
        if isinstance(error, UnicodeDecodeError):
            found = f"0x{error.object[error.start : error.end].hex()}, "
        return SourceError(
            f"a file is not encoded in {self._charset}",
            where=f"{path}, line {line}, {place}",
            got=f"{found}{error.reason if isinstance(error, UnicodeDecodeError) else error}",
            todo="name the file's encoding by the charset of the source",
        )


def _opener(path: str) -> Callable[..., Any] | None:
    return _OPENERS.get(os.path.splitext(path)[1].lower())


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if "\r" in text:
        lines = [line[:-1] if line.endswith("\r") else line for line in lines]
    return lines


def _newlines(path: str, end: int) -> int:
    """Count the newlines in front of a byte of the file's text."""
    count = 0
    with (_opener(path) or open)(path, "rb") as file:
        while end > 0:
            chunk = file.read(min(_CHUNK, end))
            if not chunk:
                break
            count += chunk.count(b"\n")
            end -= len(chunk)
    return count
