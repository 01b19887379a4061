"""Staged pieces one behind the other: each is preceded by its length."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import IO

_LENGTH = struct.Struct(">Q")


def frame(piece: bytes) -> bytes:
    """Return a piece with its length in front."""
    return _LENGTH.pack(len(piece)) + piece


def pieces(packs: Iterable[IO[bytes]]) -> Iterator[bytes]:
    """Return the pieces of all packs."""
    for pack in packs:
        while head := pack.read(_LENGTH.size):
            yield pack.read(_LENGTH.unpack(head)[0])
