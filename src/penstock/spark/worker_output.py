"""What user functions print in a worker, sent to the user's process line by line.

Only where the workers are on the user's machine: on a cluster it stays in the executor's log. A
worker that prints nothing opens no connection.
"""

from __future__ import annotations

import io
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

#: Names the socket at which the user's process listens, in the environment of a worker.
VARIABLE = "PENSTOCK_OUTPUT"
#: First byte of a connection: which of the user's streams it is for.
STDOUT, STDERR = b"1", b"2"

_streams: tuple[TextIO, TextIO] | None = None


@contextmanager
def shown_to_user() -> Iterator[None]:
    """Send what a block prints to the user's process, if that process listens.

    Outside of such blocks a worker's streams are Spark's: it has its own things to say.
    """
    place = os.environ.get(VARIABLE)
    if place is None:
        yield
        return
    global _streams
    if _streams is None:
        _streams = _open(place, STDOUT), _open(place, STDERR)
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _streams
    try:
        yield
    finally:
        for stream in _streams:
            stream.flush()
        sys.stdout, sys.stderr = before


def _open(place: str, kind: bytes) -> TextIO:
    return io.TextIOWrapper(
        io.BufferedWriter(_Connection(place, kind)),
        encoding="utf-8",
        errors="surrogatepass",
        line_buffering=True,
    )


class _Connection(io.RawIOBase):
    """The sending end of one stream, connected when the first bytes come."""

    def __init__(self, place: str, kind: bytes) -> None:
        self._place = place
        self._kind = kind
        self._socket: socket.socket | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._connected().fileno()

    def write(self, data: Any) -> int:
        try:
            self._connected().sendall(data)
        except OSError:
            # Nobody listens any more. That is no reason for a user's function to fail.
            self._socket = None
        return len(data)

    def _connected(self) -> socket.socket:
        if self._socket is None:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.connect(self._place)
            made.sendall(self._kind)
            self._socket = made
        return self._socket
