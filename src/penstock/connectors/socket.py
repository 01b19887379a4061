"""Text from a socket as a source: one record a line."""

from __future__ import annotations

import codecs
import socket
import threading

from penstock.connectors.receiver import (
    Receiver,
    ReceiverEnumerator,
    ReceiverLog,
    ReceiverSettings,
    ReceiverSource,
)
from penstock.connectors.tcp import connect, reason, refusal
from penstock.core.io import CheckContext, EnumeratorContext, SplitEnumerator
from penstock.errors import ConfigurationError, SourceError, show_value

RETRY_SECONDS = 0.5

_BUFFER = 1 << 16


class SocketSource(ReceiverSource):
    """Connect to a server and read text from it, in one subtask.

    The source ends when the server closes the connection and `max_retry` is used up. What has been
    received is in the job's folder and is never lost; what is under way when the process dies is.

    :param delimiter: what ends a record; a carriage return in front of a newline is cut off.
    :param max_retry: how many times to connect again after a failure or the end of the stream;
        -1: for ever.

    >>> SocketSource("localhost", 9999).bounded
    False
    """

    fixed_splits = True
    bounded = False
    parallel = False

    def __init__(
        self,
        host: str,
        port: int,
        delimiter: str = "\n",
        max_retry: int = 0,
        settings: ReceiverSettings | None = None,
    ) -> None:
        for name, value, right, todo in (
            ("delimiter", delimiter, bool(delimiter), "pass at least one character"),
            ("port", port, 0 < port < 65536, "pass a number from 1 to 65535"),
            ("max_retry", max_retry, max_retry >= -1, "pass -1, zero or more"),
        ):
            if not right:
                raise ConfigurationError(
                    f"a socket source cannot work with this {name}",
                    where="SocketSource",
                    got=show_value(value),
                    todo=todo,
                )
        self._host = host
        self._port = port
        self._delimiter = delimiter
        self._max_retry = max_retry
        self._settings = settings

    def identity(self) -> str:
        return f"{self._host}:{self._port}"

    def check(self, context: CheckContext) -> None:
        if self._max_retry == 0 and not context.restarts:
            error = refusal(self._host, self._port)
            if error is not None:
                raise _cannot_connect(self._host, self._port, error)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        def make(subtask: int, log: ReceiverLog, state: bytes | None) -> Receiver:
            return _SocketReceiver(self._host, self._port, self._delimiter, self._max_retry, log)

        return ReceiverEnumerator(context, make, self._settings)


class _SocketReceiver(Receiver):
    def __init__(
        self, host: str, port: int, delimiter: str, max_retry: int, log: ReceiverLog
    ) -> None:
        self._host = host
        self._port = port
        self._delimiter = delimiter
        self._max_retry = max_retry
        self._log = log
        self._cancelled = threading.Event()
        self._socket: socket.socket | None = None
        #: Text behind the last delimiter.
        self._rest = ""

    def run(self) -> None:
        attempt = 0
        while not self._cancelled.is_set():
            failure = self._receive_all()
            if self._cancelled.is_set():
                return
            if self._max_retry != -1 and attempt >= self._max_retry:
                self._finish(failure)
                return
            attempt += 1
            self._cancelled.wait(RETRY_SECONDS)

    def cancel(self) -> None:
        self._cancelled.set()
        connection = self._socket
        if connection is not None:
            try:
                # Wakes up a thread that waits in recv; closing alone does not.
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # not connected any more

    def _finish(self, failure: SourceError | None) -> None:
        if self._rest:
            self._log.extend([self._without_return(self._rest)])
        if failure is not None:
            raise failure

    def _receive_all(self) -> SourceError | None:
        """Read one connection to its end; return what went wrong, None if nothing did."""
        try:
            connection = connect(self._host, self._port)
        except OSError as error:
            return _cannot_connect(self._host, self._port, error)
        self._socket = connection
        with connection:
            decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
            try:
                while not self._cancelled.is_set() and (data := connection.recv(_BUFFER)):
                    self._take(decoder.decode(data))
                self._take(decoder.decode(b"", final=True))
            except OSError as error:
                return self._lost(error)
            finally:
                self._socket = None
        return None

    def _take(self, text: str) -> None:
        records = (self._rest + text).split(self._delimiter)
        self._rest = records.pop()
        if records:
            self._log.extend([self._without_return(record) for record in records])

    def _without_return(self, record: str) -> str:
        return record.removesuffix("\r") if self._delimiter == "\n" else record

    def _lost(self, error: OSError) -> SourceError:
        return SourceError(
            f"the connection to {self._host}:{self._port} was lost: {reason(error)}",
            todo="look at the server, or pass max_retry to connect again",
        )


def _cannot_connect(host: str, port: int, error: OSError) -> SourceError:
    return SourceError(
        f"cannot connect to {host}:{port}: {reason(error)}",
        todo=f"start a server first, for instance: nc -lk {port}",
    )
