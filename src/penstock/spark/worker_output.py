"""What user functions print and log in a worker, sent to the user's process line by line.

Log records go to the loggers of the same names there, so that the program's own logging
configuration decides what becomes of them. A worker makes those records that the program's levels
let pass.

Only where the workers are on the user's machine: on a cluster it stays in the executor's log. A
worker that prints nothing opens no connection.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from penstock.execution.log_names import JOB, OPERATOR
from penstock.runtime.failure import running_at

#: Names the socket at which the user's process listens, in the environment of a worker.
VARIABLE = "PENSTOCK_OUTPUT"
#: The program's log levels, by the names of loggers, in the environment of a worker.
LEVELS_VARIABLE = "PENSTOCK_LOG_LEVELS"
#: First byte of a connection: which of the user's streams it is for, or that it has log records.
STDOUT, STDERR, LOG = b"1", b"2", b"3"
#: Loggers of what runs the job, not of what the job does.
_NOT_THE_USERS = ("py4j", "pyspark", "penstock")

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
    if _streams is None or any(stream.closed for stream in _streams):
        _streams = _open(place, STDOUT), _open(place, STDERR)
        _log_to(_open(place, LOG))
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _streams
    try:
        yield
    finally:
        for stream in _streams:
            with contextlib.suppress(ValueError):  # a function has closed it
                stream.flush()
        sys.stdout, sys.stderr = before


def log_levels(asked: int | None = None) -> dict[str, int]:
    """Return the levels that the program has set; the root's stands under an empty name.

    :param asked: level of the job's own log, which may be a lower one.
    """
    root = logging.getLogger()
    own = max(root.level, root.manager.disable + 1)
    levels = {"": own if asked is None else min(own, asked)}
    for name, logger in root.manager.loggerDict.items():
        users = name.partition(".")[0] not in _NOT_THE_USERS
        if users and isinstance(logger, logging.Logger) and logger.level:
            levels[name] = logger.level
    return levels


def _log_to(stream: TextIO) -> None:
    logging.getLogger().addHandler(_LogSender(stream))
    for name, level in json.loads(os.environ.get(LEVELS_VARIABLE, "{}")).items():
        logging.getLogger(name).setLevel(level)


class _LogSender(logging.Handler):
    """Write log records as lines of JSON."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._formatter = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and not record.exc_text:
            record.exc_text = self._formatter.formatException(record.exc_info)
        plain = (str, int, float, bool, type(None))
        facts = {key: v for key, v in record.__dict__.items() if isinstance(v, plain)}
        facts.update(msg=record.getMessage(), args=None, exc_info=None)
        running = running_at(sys._getframe(1))
        if running is not None:
            facts[JOB], facts[OPERATOR] = running
        self._stream.write(json.dumps(facts) + "\n")


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
