"""The user's end of what functions print in workers: whole lines on the user's own streams."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import selectors
import socket
import sys
import threading
from pathlib import Path

from penstock.common.status_line import STATUS
from penstock.connectors.print_sink import printable
from penstock.execution.job_log import log_to_job
from penstock.execution.process_folder import process_folder
from penstock.spark.worker_output import LOG, STDOUT

#: Paths of Unix sockets are limited to about 100 bytes, on all systems.
_LONGEST_PATH = 100
_CHUNK = 1 << 16

_guard = threading.Lock()
_relay: OutputRelay | None = None


class _Visitor:
    """One stream of one worker, and the beginning of a line that it has not ended yet."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.kind = b""
        self.rest: list[bytes] = []

    def take_rest(self) -> bytes:
        """Return the beginning of a line, and forget it."""
        rest, self.rest = b"".join(self.rest), []
        return rest


class OutputRelay:
    """Listen for workers, and print what they send when `drain` is called.

    There is no thread of its own: in a notebook, output belongs to the cell whose thread prints it,
    and that is the job's.

    :param folder: where to put the socket.
    """

    def __init__(self, folder: Path) -> None:
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        path = str(folder / "output")
        #: Where workers connect to; None if the path is too long for a socket.
        self.place = path if len(os.fsencode(path)) < _LONGEST_PATH else None
        if self.place is not None:
            self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._listener.bind(self.place)
            self._listener.listen(128)
            self._listener.setblocking(False)
            self._selector.register(self._listener, selectors.EVENT_READ)

    def drain(self, *, ended: bool = False) -> bool:
        """Print all whole lines that have arrived; return whether anything has.

        :param ended: the job has ended: print the beginnings of lines as well.
        """
        with self._lock:
            found = False
            while self._take_ready():
                found = True
            if ended:
                self._print_rests()
            return found

    def _take_ready(self) -> bool:
        ready = self._selector.select(0) if self.place is not None else []
        for key, _ in ready:
            if key.data is None:
                self._accept()
            else:
                self._read(key.data)
        return bool(ready)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            connection.setblocking(False)
            self._selector.register(connection, selectors.EVENT_READ, _Visitor(connection))

    def _read(self, visitor: _Visitor) -> None:
        try:
            data = visitor.connection.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(visitor.connection)
            visitor.connection.close()
            _show(visitor.kind, visitor.take_rest())
            return
        if not visitor.kind:
            visitor.kind, data = data[:1], data[1:]
        lines, newline, rest = data.rpartition(b"\n")
        if newline:
            _show(visitor.kind, visitor.take_rest() + lines + newline)
        if rest:
            visitor.rest.append(rest)

    def _print_rests(self) -> None:
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                _show(key.data.kind, key.data.take_rest())


def _show(kind: bytes, data: bytes) -> None:
    if not data:
        return
    if kind == LOG:
        for line in data.splitlines():
            _log(line)
        return
    # Looked up now: a notebook or a test may have put something else in its place.
    stream = sys.stdout if kind == STDOUT else sys.stderr
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")  # written to sys.stdout.buffer, in who knows what
    # A stream that was closed or has lost its reader must not end the job.
    with contextlib.suppress(OSError, ValueError):
        STATUS.clear()
        stream.write(printable(text, stream))
        stream.flush()


def _log(line: bytes) -> None:
    """Hand a record to the program's logger of its name."""
    with contextlib.suppress(ValueError):  # a line that was cut off with its worker
        record = logging.makeLogRecord(json.loads(line))
        log_to_job(record)
        logger = logging.getLogger(record.name)
        if logger.isEnabledFor(record.levelno):
            logger.handle(record)


def output_relay() -> OutputRelay:
    """Return the relay of this process, made on first use."""
    global _relay
    with _guard:
        folder = process_folder().path
        if _relay is None or (_relay.place is not None and not os.path.exists(_relay.place)):
            _relay = OutputRelay(folder)
        return _relay
