"""Serializers of windows."""

from __future__ import annotations

import struct
from typing import BinaryIO

from penstock.common.serializer import TypeSerializer
from penstock.core.windowing.windows import CountWindow, GlobalWindow, TimeWindow

_TWO_LONGS = struct.Struct(">qq")
_LONG = struct.Struct(">q")


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Write a time window as its start and end."""

    def serialize(self, element: TimeWindow, stream: BinaryIO) -> None:
        stream.write(_TWO_LONGS.pack(element.start, element.end))

    def deserialize(self, stream: BinaryIO) -> TimeWindow:
        return TimeWindow(*_TWO_LONGS.unpack(stream.read(_TWO_LONGS.size)))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """Write a count window as its number."""

    def serialize(self, element: CountWindow, stream: BinaryIO) -> None:
        stream.write(_LONG.pack(element.id))

    def deserialize(self, stream: BinaryIO) -> CountWindow:
        return CountWindow(*_LONG.unpack(stream.read(_LONG.size)))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """Write the global window as one byte."""

    def serialize(self, element: GlobalWindow, stream: BinaryIO) -> None:
        stream.write(b"\0")

    def deserialize(self, stream: BinaryIO) -> GlobalWindow:
        stream.read(1)
        return GlobalWindow.get()
