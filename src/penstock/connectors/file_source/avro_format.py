"""Avro's container files as records: dicts with lists, dicts and single values inside."""

from __future__ import annotations

import bz2
import json
import lzma
import os
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import IO, Any

import pyarrow as pa

from penstock.connectors.avro_schema import AvroSchema, GenericRecordAvroTypeInfo
from penstock.connectors.file_paths import store_of
from penstock.connectors.file_source.avro_decoder import Decode, compile_decoder, read_long
from penstock.connectors.file_source.file_format import FilePiece
from penstock.connectors.file_source.opening import reading
from penstock.connectors.file_source.source import FileSource
from penstock.connectors.file_source.stream_format import BulkFormat
from penstock.errors import SourceError

_MAGIC = b"Obj\x01"
_SYNC = 16
_SCAN = 1 << 16
_BROKEN = (ValueError, IndexError, KeyError, TypeError, EOFError, zlib.error, lzma.LZMAError)


class AvroFileFormat(BulkFormat):
    """Read Avro's container files, with the schema that each of them holds.

    A block of records belongs to the range of bytes in which it starts, so that a large file can
    be read in parallel.

    :param schema: what the records are declared to be; the files say themselves what they are.
    """

    def __init__(self, schema: AvroSchema) -> None:
        self.produced_type = GenericRecordAvroTypeInfo(schema)

    def is_divisible(self, path: str) -> bool:
        return True

    def record_bytes(self, path: str, size: int) -> float:
        with store_of(path).open_input(path) as file:
            try:
                _header(file)
                count, length = read_long(file), read_long(file)
            except _BROKEN:
                # Reading it will say so, and better.
                return 1.0
        return max(length / max(count, 1), 0.01)

    def read(self, piece: FilePiece) -> Iterator[list[Any]]:
        with reading(piece, unpack=False) as file:
            try:
                yield from _blocks(file, piece)
            except _BROKEN as error:
                raise SourceError(
                    "a file is no Avro file, or it is damaged",
                    where=f"{piece.path}, byte {file.tell()}",
                    got=f"{type(error).__name__}: {error}",
                    todo="replace the file by one that is whole",
                ) from error


class AvroInputFormat(FileSource):
    """Read the Avro files of a path: a file, a folder or a pattern.

    :param schema: schema of the records, which are dicts.
    """

    def __init__(self, path: str | os.PathLike[str], schema: AvroSchema) -> None:
        super().__init__(AvroFileFormat(schema), [path])


def _blocks(file: IO[bytes], piece: FilePiece) -> Iterator[list[Any]]:
    decode, codec, sync = _header(file)
    if piece.start > file.tell():
        _find_block(file, piece, sync)
    while file.tell() < piece.end:
        count, length = read_long(file), read_long(file)
        packed = file.read(length)
        if len(packed) < length or file.read(_SYNC) != sync:
            raise ValueError("a block is cut off or damaged")
        data = BytesIO(_unpack(codec, packed))
        yield [decode(data) for _ in range(count)]


def _header(file: IO[bytes]) -> tuple[Decode, str, bytes]:
    if file.read(len(_MAGIC)) != _MAGIC:
        raise ValueError("it does not begin as an Avro file does")
    metadata = compile_decoder({"type": "map", "values": "bytes"})(file)
    codec = metadata.get("avro.codec", b"null").decode()
    decode = compile_decoder(json.loads(metadata["avro.schema"]))
    return decode, codec, file.read(_SYNC)


def _find_block(file: IO[bytes], piece: FilePiece, sync: bytes) -> None:
    """Go to the first block that starts in a piece, or behind it if there is none."""
    # The marker in front of a block that starts at the first byte lies right in front of it.
    at = piece.start - _SYNC
    file.seek(at)
    window = b""
    while True:
        data = file.read(_SCAN)
        window += data
        found = window.find(sync)
        if found >= 0 or not data:
            file.seek(piece.end if found < 0 else at + found + _SYNC)
            return
        at += max(len(window) - _SYNC + 1, 0)
        window = window[-_SYNC + 1 :]
        if at >= piece.end:
            file.seek(piece.end)
            return


def _unpack(codec: str, packed: bytes) -> bytes:
    if codec == "null":
        return packed
    if codec == "deflate":
        return zlib.decompress(packed, -15)
    if codec == "bzip2":
        return bz2.decompress(packed)
    if codec == "xz":
        return lzma.decompress(packed)
    if codec == "zstandard":
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            return bytes(stream.read())
    if codec == "snappy":
        # In front of the last four bytes, which are a checksum, the packed data; in front of that
        # its unpacked length as a number of variable length.
        return bytes(pa.decompress(packed[:-4], _snappy_length(packed), "snappy", asbytes=True))
    raise ValueError(f"its blocks are packed in an unknown way: {codec}")


def _snappy_length(packed: bytes) -> int:
    length = shift = 0
    for byte in packed:
        length |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return length
