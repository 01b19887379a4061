"""Open files to read them: unpacked, and with errors that name the file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import IO, Any

import pyarrow as pa

from penstock.connectors.file_paths import store_of
from penstock.connectors.file_source.file_format import FilePiece
from penstock.connectors.file_stores import FileStatus
from penstock.errors import SourceError

MUST_STAY = "the file must stay as it is, and at the same path on every worker, while it is read"
_BUFFER = 1 << 16
_SAMPLE = 1 << 16
_PACKED_SAMPLE = 1 << 14
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException)


class _Inflate(io.RawIOBase):
    """Unpack a stream of zlib's."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._unpacker = zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._unpacker.eof:
            packed = self._unpacker.unconsumed_tail or self._file.read(_BUFFER)
            if not packed:
                raise EOFError("the compressed file ends in the middle")
            data = self._unpacker.decompress(packed, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)
        return 0


class UpTo(io.RawIOBase):
    """Read a file up to a byte, however long it has become.

    :param size: number of the byte behind the last one.
    """

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._left = size - file.tell()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


def _inflate(file: IO[bytes]) -> IO[bytes]:
    return io.BufferedReader(_Inflate(file), _BUFFER)


def _zstandard(file: IO[bytes]) -> IO[bytes]:
    return io.BufferedReader(pa.CompressedInputStream(file, "zstd"), _BUFFER)


_UNPACKERS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".bz2": bz2.open,
    ".deflate": _inflate,
    ".gz": gzip.open,
    ".gzip": gzip.open,
    ".xz": lzma.open,
    ".zst": _zstandard,
}


def is_compressed(path: str) -> bool:
    """Tell by its name whether a file is compressed."""
    return _suffix(path) in _UNPACKERS


@contextmanager
def reading(piece: FilePiece, *, unpack: bool = True) -> Iterator[IO[bytes]]:
    """Open a file for the time of a `with` block.

    :param unpack: unpack a file whose name says that it is compressed.
    :raises SourceError: whatever goes wrong with the file, inside the block too, and if the file
        is no longer the one that was found or changes while it is open.
    """
    try:
        with store_of(piece.path).open_input(piece.path) as file:
            before = _status(piece, file)
            if before.size < piece.size:
                raise shorter(piece.path, before.size, piece.size)
            unpacker = _UNPACKERS.get(_suffix(piece.path)) if unpack else None
            with nullcontext(file) if unpacker is None else unpacker(file) as unpacked:
                yield unpacked
                # Here, since an unpacker may close the file with itself.
                _check_same(piece, before, _status(piece, file))
    except _BROKEN as error:
        raise SourceError(
            "a file cannot be read",
            where=piece.path,
            got=f"{type(error).__name__}: {error}",
            todo=MUST_STAY,
        ) from error


def sample(path: str, size: int) -> tuple[bytes, int]:
    """Return the beginning of a file, unpacked, and how many bytes of the file it comes from.

    :raises OSError: if the file cannot be read.
    """
    unpacker = _UNPACKERS.get(_suffix(path))
    with store_of(path).open_input(path) as file:
        raw = file.read(min(size, _SAMPLE if unpacker is None else _PACKED_SAMPLE))
    if unpacker is None:
        return raw, len(raw)
    unpacked = []
    try:
        with unpacker(io.BytesIO(raw)) as stream:
            while data := stream.read1(_BUFFER):
                unpacked.append(data)
    except _BROKEN:
        # It ends in the middle, of course.
        return b"".join(unpacked), len(raw)
    return b"".join(unpacked), len(raw)


def shorter(path: str, size: int, known: int) -> SourceError:
    """Return the error for a file that has lost bytes."""
    return SourceError(
        "a file has become shorter while it was being read",
        where=path,
        got=f"{size} bytes, {known} bytes when it was found",
        todo=MUST_STAY,
    )


def replaced(path: str, sign: str) -> SourceError:
    """Return the error for a file that has become another one.

    :param sign: what tells it.
    """
    return SourceError(
        "a file has been changed or replaced while it was being read",
        where=path,
        got=sign,
        todo=MUST_STAY,
    )


def _check_same(piece: FilePiece, before: FileStatus, after: FileStatus) -> None:
    if after.size < piece.size:
        raise shorter(piece.path, after.size, piece.size)
    if after.size == before.size and after.modified != before.modified:
        raise replaced(piece.path, "its time of change is another one")


def _status(piece: FilePiece, file: IO[bytes]) -> FileStatus:
    try:
        found = os.fstat(file.fileno())
    except OSError:
        # No file of the operating system's: the store's own word has to do.
        status = store_of(piece.path).status(piece.path)
        return status or FileStatus(piece.path, 0, 0, 0)
    return FileStatus(piece.path, found.st_size, found.st_mtime_ns, found.st_ino)


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()
