"""A stream whose records every subtask gets, to keep them in broadcast state."""

from __future__ import annotations

from penstock.core.state import MapStateDescriptor
from penstock.datastream.stream import DataStream


class BroadcastStream:
    """What `broadcast(descriptor, ...)` returns: connect another stream with it."""

    def __init__(self, stream: DataStream, descriptors: tuple[MapStateDescriptor, ...]) -> None:
        self._stream = stream
        self._descriptors = descriptors

    def get_stream(self) -> DataStream:
        """Return the stream, partitioned such that every subtask gets every record."""
        return self._stream

    def get_broadcast_state_descriptors(self) -> list[MapStateDescriptor]:
        """Return the descriptors of the broadcast states."""
        return list(self._descriptors)
