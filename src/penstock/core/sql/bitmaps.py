"""Bitmaps: sets of unsigned 32-bit numbers, given and shown as signed INTs."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from penstock.errors import EvaluationError

Bitmap = frozenset[int]
_COOKIE = 12346
_ARRAY_LIMIT = 4096


def number(value: int) -> int:
    """Return an INT as the unsigned number of the same bits."""
    return value & 0xFFFFFFFF


def signed(value: int) -> int:
    """Return the INT of an unsigned number."""
    return value - (1 << 32) if value >= 1 << 31 else value


def build(values: Sequence[int | None]) -> Bitmap:
    """Return the bitmap of an array; NULLs are left out."""
    return frozenset(number(value) for value in values if value is not None)


def to_array(bitmap: Bitmap) -> list[int]:
    """Return the numbers in unsigned order."""
    return [signed(value) for value in sorted(bitmap)]


def text(bitmap: Bitmap) -> str:
    """Show a bitmap: {1,2,3}."""
    return "{" + ",".join(str(value) for value in sorted(bitmap)) + "}"


def cardinality(bitmap: Bitmap | None) -> int | None:
    """Return how many numbers there are; NULL of NULL."""
    return None if bitmap is None else len(bitmap)


def and_(a: Bitmap, b: Bitmap) -> Bitmap:
    """Return what is in both."""
    return a & b


def or_(a: Bitmap, b: Bitmap) -> Bitmap:
    """Return what is in either."""
    return a | b


def xor(a: Bitmap, b: Bitmap) -> Bitmap:
    """Return what is in one of them."""
    return a ^ b


def andnot(a: Bitmap, b: Bitmap) -> Bitmap:
    """Return what is in the first only."""
    return a - b


def fold_and(bag: dict[Bitmap, int]) -> Bitmap | None:
    """Return what is in all bitmaps of a bag."""
    return reduce(and_, bag) if bag else None


def fold_or(bag: dict[Bitmap, int]) -> Bitmap | None:
    """Return what is in any bitmap of a bag."""
    return reduce(or_, bag) if bag else None


def fold_xor(bag: dict[Bitmap, int]) -> Bitmap | None:
    """Return what is in an odd number of bitmaps of a bag."""
    odd: Iterable[Bitmap] = (bitmap for bitmap, count in bag.items() if count % 2)
    nothing: Bitmap = frozenset()
    return reduce(xor, odd, nothing) if bag else None


def to_bytes(bitmap: Bitmap) -> bytes:
    """Write a bitmap in the portable form of Roaring bitmaps, without runs."""
    containers: dict[int, list[int]] = {}
    for value in sorted(bitmap):
        containers.setdefault(value >> 16, []).append(value & 0xFFFF)
    bodies = [_container(lows) for lows in containers.values()]
    head = struct.pack("<II", _COOKIE, len(containers))
    for high, lows in containers.items():
        head += struct.pack("<HH", high, len(lows) - 1)
    offset = len(head) + 4 * len(containers)
    for body in bodies:
        head += struct.pack("<I", offset)
        offset += len(body)
    return head + b"".join(bodies)


def _container(lows: list[int]) -> bytes:
    if len(lows) <= _ARRAY_LIMIT:
        return struct.pack(f"<{len(lows)}H", *lows)
    bits = bytearray(8192)
    for low in lows:
        bits[low >> 3] |= 1 << (low & 7)
    return bytes(bits)


def from_bytes(data: bytes) -> Bitmap:
    """Read a bitmap in the portable form of Roaring bitmaps."""
    try:
        return frozenset(_read(data))
    except (struct.error, IndexError, ValueError):
        raise EvaluationError("these bytes are no bitmap", got=data[:16].hex()) from None


def _read(data: bytes) -> Iterable[int]:
    (cookie,) = struct.unpack_from("<I", data, 0)
    if cookie & 0xFFFF == 12347:
        size, position = (cookie >> 16) + 1, 4
        flags = data[position : position + (size + 7) // 8]
        position += (size + 7) // 8
    elif cookie == _COOKIE:
        (size,) = struct.unpack_from("<I", data, 4)
        flags, position = bytes((size + 7) // 8), 8
    else:
        raise ValueError("unknown cookie")
    keys = [struct.unpack_from("<HH", data, position + 4 * i) for i in range(size)]
    position += 4 * size
    if cookie == _COOKIE or size >= 4:
        position += 4 * size
    for i, (high, count) in enumerate(keys):
        lows, position = _read_container(data, position, count + 1, flags[i >> 3] >> (i & 7) & 1)
        yield from ((high << 16) | low for low in lows)


def _read_container(data: bytes, position: int, count: int, is_run: int) -> tuple[Any, int]:
    if is_run:
        (runs,) = struct.unpack_from("<H", data, position)
        pairs = struct.unpack_from(f"<{2 * runs}H", data, position + 2)
        spans = zip(pairs[::2], pairs[1::2], strict=True)
        lows = [low for start, length in spans for low in range(start, start + length + 1)]
        return lows, position + 2 + 4 * runs
    if count <= _ARRAY_LIMIT:
        return struct.unpack_from(f"<{count}H", data, position), position + 2 * count
    bits = data[position : position + 8192]
    return [i for i in range(65536) if bits[i >> 3] >> (i & 7) & 1], position + 8192
