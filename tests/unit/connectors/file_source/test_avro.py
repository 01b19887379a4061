"""Avro's container files, written here byte by byte as the specification has it."""

from __future__ import annotations

import bz2
import datetime as dt
import json
import lzma
import struct
import zlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.connectors.file_source.avro_format import AvroFileFormat
from penstock.connectors.file_source.file_format import FilePiece
from penstock.datastream.formats.avro import (
    AvroInputFormat,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from penstock.errors import ConfigurationError, SourceError
from tests.unit.connectors.driver import SourceDriver

SYNC = bytes(range(100, 116))


def number(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return number(len(data)) + data


def container(
    schema: Any, blocks: list[list[bytes]], codec: str = "null", pack: Any = lambda data: data
) -> bytes:
    head = b"Obj\x01" + number(2)
    head += text("avro.schema") + text(json.dumps(schema)) + text("avro.codec") + text(codec)
    out = head + number(0) + SYNC
    for records in blocks:
        data = pack(b"".join(records))
        out += number(len(records)) + number(len(data)) + data + SYNC
    return out


def read(path: Path, length: int | None = None) -> list[Any]:
    size = path.stat().st_size
    return [
        record
        for start in range(0, size, length or size)
        for records in AvroFileFormat(AvroSchema("long")).read(
            FilePiece(str(path), start, min(start + (length or size), size), size)
        )
        for record in records
    ]


SCHEMA = {
    "type": "record",
    "name": "Reading",
    "namespace": "plant",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "sensor", "type": "string"},
        {"name": "ok", "type": "boolean"},
        {"name": "value", "type": ["null", "double"]},
        {"name": "raw", "type": "float"},
        {"name": "tags", "type": {"type": "array", "items": "int"}},
        {"name": "by", "type": {"type": "map", "values": "bytes"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["HOT", "COLD"]}},
        {"name": "other", "type": "Kind"},
        {"name": "mac", "type": {"type": "fixed", "name": "Mac", "size": 3}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "time", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "scale": 2}},
        {"name": "next", "type": ["null", "Reading"]},
    ],
}


def encoded(end: bytes) -> bytes:
    return b"".join(
        [
            number(-123456789),
            text("é"),
            b"\x01",
            number(1) + struct.pack("<d", 1.5),
            struct.pack("<f", -0.5),
            number(2) + number(1) + number(-1) + number(-1) + number(1) + number(7) + number(0),
            number(1) + text("k") + text(b"\xff") + number(0),
            number(1),
            number(0),
            b"abc",
            number(19782),
            number(1709209815250),
            number(45015250),
            text(b"\xff\x6a"),
            end,
        ]
    )


def decoded(end: Any) -> dict[str, Any]:
    return {
        "id": -123456789,
        "sensor": "é",
        "ok": True,
        "value": 1.5,
        "raw": -0.5,
        "tags": [1, -1, 7],
        "by": {"k": b"\xff"},
        "kind": "COLD",
        "other": "HOT",
        "mac": b"abc",
        "day": dt.date(2024, 2, 29),
        "at": dt.datetime(2024, 2, 29, 12, 30, 15, 250000, dt.timezone.utc),
        "time": dt.time(12, 30, 15, 250000),
        "price": Decimal("-1.50"),
        "next": end,
    }


def test_every_type(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    inner = encoded(number(0))
    path.write_bytes(container(SCHEMA, [[encoded(number(1) + inner)]]))
    assert read(path) == [decoded(decoded(None))]


def pack_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def pack_zstandard(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def pack_snappy(data: bytes) -> bytes:
    packed: bytes = pa.compress(data, "snappy", asbytes=True)
    return packed + struct.pack(">I", zlib.crc32(data))


@pytest.mark.parametrize(
    ("codec", "pack"),
    [
        ("deflate", pack_deflate),
        ("bzip2", bz2.compress),
        ("xz", lzma.compress),
        ("zstandard", pack_zstandard),
        ("snappy", pack_snappy),
    ],
)
def test_packed_blocks(tmp_path: Path, codec: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "a.avro"
    blocks = [[number(n) for n in range(b, b + 300)] for b in range(0, 900, 300)]
    path.write_bytes(container("long", blocks, codec, pack))
    assert read(path) == list(range(900))


@pytest.mark.parametrize("length", [1, 16, 50, 333, 5000])
def test_blocks_are_read_in_pieces(
    tmp_path: Path, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.connectors.file_source.avro_format._SCAN", 20)
    path = tmp_path / "a.avro"
    blocks = [[number(n) for n in range(b, b + 20)] for b in range(0, 200, 20)]
    path.write_bytes(container("long", blocks))
    assert read(path, length) == list(range(200))


def test_an_input_format_is_a_source(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    blocks = [[text(f"{n}")] for n in range(50)]
    (folder / "a.avro").write_bytes(container("string", blocks))
    schema = AvroSchema.parse_string("string")
    source = AvroInputFormat(str(folder), schema)
    assert source.get_produced_type() == GenericRecordAvroTypeInfo(schema)
    driver = SourceDriver(source, tmp_path / "job", parallelism=2)
    driver.run()
    assert driver.values() == [str(n) for n in range(50)]


@pytest.mark.parametrize(
    ("content", "got"),
    [
        (b"id,name\n" * 9, "ValueError: it does not begin as an Avro file does"),
        (container("long", [[number(1)] * 9])[:-3], "ValueError: a block is cut off or damaged"),
        (
            container("long", [[number(1)]], "lzo"),
            "ValueError: its blocks are packed in an unknown way: lzo",
        ),
        (container("long", [[b""]]), "EOFError: it ends in the middle of a value"),
        (container("Missing", [[b""]]), "ValueError: there is no type 'Missing'"),
    ],
)
def test_files_that_are_no_avro(tmp_path: Path, content: bytes, got: str) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        read(path)
    assert caught.value.what == "a file is no Avro file, or it is damaged"
    assert caught.value.where is not None
    assert caught.value.where.startswith(f"{path}, byte ")
    assert caught.value.got == got
    assert caught.value.todo == "replace the file by one that is whole"


def test_schemas(tmp_path: Path) -> None:
    schema = AvroSchema.parse_string(json.dumps(SCHEMA))
    (tmp_path / "a.avsc").write_text(str(schema))
    assert AvroSchema.parse_file(str(tmp_path / "a.avsc")) == schema
    with pytest.raises(ConfigurationError) as caught:
        AvroSchema.parse_string('{"type": "array", "items": "integer"}')
    assert str(caught.value) == (
        "this is no Avro schema\n"
        "  where: AvroSchema\n"
        '  got:   \'{"type": "array", "items": "integer"}\' '
        "(ValueError: there is no type 'integer')"
    )
    with pytest.raises(ConfigurationError) as caught:
        AvroSchema.parse_file(str(tmp_path / "b.avsc"))
    assert str(caught.value) == (
        "the file of an Avro schema cannot be read\n"
        "  where: AvroSchema\n"
        f"  got:   [Errno 2] No such file or directory: '{tmp_path}/b.avsc'"
    )
