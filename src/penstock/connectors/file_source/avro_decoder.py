"""Avro's binary encoding: a schema becomes a function that reads one value."""

from __future__ import annotations

import datetime as dt
import decimal
import struct
from collections.abc import Callable
from typing import IO, Any

from penstock.connectors.avro_schema import full_name

Decode = Callable[[IO[bytes]], Any]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_LOCAL_EPOCH = dt.datetime(1970, 1, 1)
_FIRST_DAY = dt.date(1970, 1, 1).toordinal()


def read_long(stream: IO[bytes]) -> int:
    """Read a whole number of variable length.

    :raises EOFError: at the end of the stream.
    """
    result = shift = 0
    while True:
        byte = stream.read(1)
        if not byte:
            raise EOFError("it ends in the middle of a value")
        result |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return (result >> 1) ^ -(result & 1)
        shift += 7


def compile_decoder(definition: Any) -> Decode:
    """Return the function that reads a value of a schema.

    :raises ValueError: if the schema uses something that is unknown.
    """
    return _compile(definition, {}, "")


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError("it ends in the middle of a value")
    return data


def _read_bytes(stream: IO[bytes]) -> bytes:
    return _exactly(stream, read_long(stream))


_PRIMITIVE: dict[str, Decode] = {
    "null": lambda stream: None,
    "boolean": lambda stream: _exactly(stream, 1) != b"\0",
    "int": read_long,
    "long": read_long,
    "float": lambda stream: struct.unpack("<f", _exactly(stream, 4))[0],
    "double": lambda stream: struct.unpack("<d", _exactly(stream, 8))[0],
    "bytes": _read_bytes,
    "string": lambda stream: _read_bytes(stream).decode(),
}
_LOGICAL: dict[str, Callable[[Any], Any]] = {
    "date": lambda days: dt.date.fromordinal(_FIRST_DAY + days),
    "time-millis": lambda millis: _time_of_day(millis * 1000),
    "time-micros": lambda micros: _time_of_day(micros),
    "timestamp-millis": lambda millis: _EPOCH + dt.timedelta(milliseconds=millis),
    "timestamp-micros": lambda micros: _EPOCH + dt.timedelta(microseconds=micros),
    "local-timestamp-millis": lambda millis: _LOCAL_EPOCH + dt.timedelta(milliseconds=millis),
    "local-timestamp-micros": lambda micros: _LOCAL_EPOCH + dt.timedelta(microseconds=micros),
}


def _compile(definition: Any, known: dict[str, Decode], namespace: str) -> Decode:
    if isinstance(definition, list):
        return _union([_compile(branch, known, namespace) for branch in definition])
    if isinstance(definition, str):
        return _named(definition, known, namespace)
    kind = definition["type"]
    if kind == "record":
        return _record(definition, known, namespace)
    if kind == "array":
        return _array(_compile(definition["items"], known, namespace))
    if kind == "map":
        return _map(_compile(definition["values"], known, namespace))
    if kind in ("enum", "fixed"):
        decode = _enum(definition["symbols"]) if kind == "enum" else _fixed(definition["size"])
        known[full_name(definition, namespace)] = decode
    else:
        decode = _compile(kind, known, namespace)
    return _logical(definition, decode)


def _named(name: str, known: dict[str, Decode], namespace: str) -> Decode:
    if name in _PRIMITIVE:
        return _PRIMITIVE[name]
    place = name if name in known or not namespace else f"{namespace}.{name}"
    if place not in known:
        raise ValueError(f"there is no type {name!r}")
    # Looked up when it is called: a record may contain itself.
    return lambda stream: known[place](stream)


def _record(definition: Any, known: dict[str, Decode], namespace: str) -> Decode:
    name = full_name(definition, namespace)
    fields: list[tuple[str, Decode]] = []

    def decode(stream: IO[bytes]) -> dict[str, Any]:
        return {field: read(stream) for field, read in fields}

    known[name] = decode
    for field in definition["fields"]:
        fields.append((field["name"], _compile(field["type"], known, name.rpartition(".")[0])))
    return decode


def _union(branches: list[Decode]) -> Decode:
    return lambda stream: branches[read_long(stream)](stream)


def _enum(symbols: list[str]) -> Decode:
    return lambda stream: symbols[read_long(stream)]


def _fixed(size: int) -> Decode:
    return lambda stream: _exactly(stream, size)


def _block_sizes(stream: IO[bytes]) -> Any:
    while (count := read_long(stream)) != 0:
        if count < 0:
            # A size in bytes follows, for readers that want to skip the block.
            read_long(stream)
            count = -count
        yield count


def _array(item: Decode) -> Decode:
    return lambda stream: [item(stream) for count in _block_sizes(stream) for _ in range(count)]


def _map(value: Decode) -> Decode:
    def decode(stream: IO[bytes]) -> dict[str, Any]:
        return {
            _read_bytes(stream).decode(): value(stream)
            for count in _block_sizes(stream)
            for _ in range(count)
        }

    return decode


def _logical(definition: Any, decode: Decode) -> Decode:
    logical = definition.get("logicalType")
    if logical == "decimal":
        scale = definition.get("scale", 0)
        return lambda stream: _decimal(decode(stream), scale)
    convert = _LOGICAL.get(logical)
    return decode if convert is None else lambda stream: convert(decode(stream))


def _decimal(data: bytes, scale: int) -> decimal.Decimal:
    number = int.from_bytes(data, "big", signed=True)
    digits = tuple(map(int, str(abs(number))))
    return decimal.Decimal((int(number < 0), digits, -scale))


def _time_of_day(micros: int) -> dt.time:
    return (_LOCAL_EPOCH + dt.timedelta(microseconds=micros)).time()
