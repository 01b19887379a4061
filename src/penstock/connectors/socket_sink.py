"""Send records to a server over a socket."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

from penstock.connectors.journal import LastBatch
from penstock.connectors.tcp import connect, reason
from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.errors import SinkError

_RETRY_SECONDS = 0.5


class SocketSink(Sink):
    r"""Connect to a server and send it the encoded records, nothing between them.

    At least once: a batch whose sending was interrupted is sent again as a whole. The server
    confirms nothing, so what it had not read when it went away is lost.

    :param encode: turns a value into text or bytes, with a delimiter if one is wanted.
    :param max_retry: how many times to connect again after a failure, for each batch.

    >>> sink = SocketSink("localhost", 9999, lambda value: f"{value}\n")
    """

    def __init__(
        self,
        host: str,
        port: int,
        encode: Callable[[Any], str | bytes] | None = None,
        max_retry: int = 0,
    ) -> None:
        self._host = host
        self._port = port
        self._encode = encode or str
        self._max_retry = max_retry

    def identity(self) -> str:
        return f"{self._host}:{self._port}"

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _EncodingWriter(self._encode)

    def create_committer(self, context: CommitterContext) -> Committer:
        return _SocketCommitter(context, self._host, self._port, self._max_retry)


class _EncodingWriter(SinkWriter):
    def __init__(self, encode: Callable[[Any], str | bytes]) -> None:
        self._encode = encode
        self._records: list[bytes] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        record = self._encode(value)
        self._records.append(record.encode() if isinstance(record, str) else record)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        data = b"".join(self._records)
        self._records.clear()
        return [data] if data else []


class _SocketCommitter(Committer):
    def __init__(self, context: CommitterContext, host: str, port: int, max_retry: int) -> None:
        self._address = f"{host}:{port}"
        self._host = host
        self._port = port
        self._max_retry = max_retry
        self._published = LastBatch(context.directory, fresh=not context.restored)
        # At once: a job that could publish nothing should not start.
        self._connection: socket.socket | None = self._connect()

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if self._published.includes(batch_id):
            return
        ordered = sorted(committables, key=lambda c: c.subtask)
        self._send(b"".join(committable.payload for committable in ordered))
        self._published.advance(batch_id)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, data: bytes) -> None:
        attempt = 0
        while True:
            try:
                self._live_connection().sendall(data)
                return
            except (OSError, SinkError) as error:
                self.close()
                if attempt >= self._max_retry:
                    raise self._lost(error) from error
            attempt += 1
            time.sleep(_RETRY_SECONDS)

    def _live_connection(self) -> socket.socket:
        connection = self._connection
        if connection is not None and _is_closed_by_peer(connection):
            # Sending would succeed, and what is sent be thrown away.
            self.close()
            connection = None
        self._connection = connection or self._connect()
        return self._connection

    def _connect(self) -> socket.socket:
        try:
            return connect(self._host, self._port)
        except OSError as error:
            raise SinkError(
                f"cannot connect to {self._address}: {reason(error)}",
                todo=f"start a server first, for instance: nc -lk {self._port}",
            ) from error

    def _lost(self, error: OSError | SinkError) -> SinkError:
        if isinstance(error, SinkError):
            return error
        return SinkError(
            f"cannot send to {self._address}: {reason(error)}",
            todo="look at the server, or pass max_retry to connect again",
        )


def _is_closed_by_peer(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
