"""Calls from Spark's Python side processes to the coordinator in the user's process.

Spark runs the stream reader in a process of its own, on the machine of the user's process. It
reaches the coordinator over a local socket, with a secret.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import (
    Client,
    Connection,
    Listener,
    answer_challenge,
    deliver_challenge,
)
from typing import Any

from penstock.errors import JobFailedError
from penstock.execution.process_folder import process_folder

#: Longer than any call should take; a coordinator that has died is noticed at once.
TIMEOUT_SECONDS = 600.0
#: Paths of Unix sockets are limited to about 100 bytes, on all systems.
_LONGEST_PATH = 100
#: How many callers may wait for the acceptor to come round.
_WAITING = 16

_connections: dict[str, Connection[Any, Any]] = {}


@dataclass(frozen=True)
class Address:
    """Where the coordinator listens, and the secret that it asks for."""

    place: str
    secret: str

    def options(self) -> dict[str, str]:
        """Return the address as options of a Spark data source."""
        return {"coordinator": self.place, "coordinatorSecret": self.secret}

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Address:
        """Undo `options`."""
        return cls(options["coordinator"], options["coordinatorSecret"])


class RpcServer:
    """Serve methods to the side processes, a thread for each connection.

    :param methods: what may be called, by name.
    :param on_error: called with an exception that a method raised, before the caller learns of it.
    """

    def __init__(
        self, methods: Mapping[str, Callable[..., Any]], on_error: Callable[[BaseException], None]
    ) -> None:
        self._methods = methods
        self._on_error = on_error
        self._secret = secrets.token_hex(16)
        self._folder = process_folder().make("rpc")
        path = str(self._folder / "coordinator")
        place: Any = path if len(os.fsencode(path)) < _LONGEST_PATH else ("127.0.0.1", 0)
        # Without the key: the secret is asked for in the thread of the connection, so that a caller
        # who says nothing keeps no other one waiting.
        self._listener = Listener(place, backlog=_WAITING)
        self._closed = False
        self._open: set[Connection[Any, Any]] = set()
        self._acceptor = threading.Thread(target=self._accept, name="penstock-rpc", daemon=True)
        self._acceptor.start()

    @property
    def address(self) -> Address:
        """Where to call."""
        place = self._listener.address
        text = place if isinstance(place, str) else f"{place[0]}:{place[1]}"
        return Address(str(text), self._secret)

    def close(self) -> None:
        """Take no more calls. May be called again."""
        if self._closed:
            return
        self._closed = True
        # Closing a socket does not wake a thread that waits on it, and takes the handle from under
        # its feet: a last visitor ends the wait for new ones, a shutdown that for the next call.
        # The visitor waits for nobody: the acceptor may have noticed before it came, and gone.
        place = self._listener.address
        family = socket.AF_UNIX if isinstance(place, str) else socket.AF_INET
        with socket.socket(family) as visitor, contextlib.suppress(OSError):
            visitor.settimeout(1)
            visitor.connect(place)
        self._acceptor.join()
        for connection in list(self._open):
            with (
                contextlib.suppress(OSError),
                socket.socket(fileno=os.dup(connection.fileno())) as s,
            ):
                s.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except OSError:
                # A caller that has gone again.
                continue
            if self._closed:
                connection.close()
                return
            self._open.add(connection)
            threading.Thread(
                target=self._serve, args=(connection,), name="penstock-rpc-call", daemon=True
            ).start()

    def _serve(self, connection: Connection[Any, Any]) -> None:
        try:
            deliver_challenge(connection, bytes.fromhex(self._secret))
            answer_challenge(connection, bytes.fromhex(self._secret))
            while True:
                name, arguments = connection.recv()
                connection.send(self._answer(name, arguments))
        except (OSError, EOFError, AuthenticationError):
            # The side process has ended, a stranger does not know the secret, or this server was
            # closed.
            pass
        finally:
            self._open.discard(connection)
            connection.close()

    def _answer(self, name: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        try:
            return True, self._methods[name](*arguments)
        except Exception as error:
            self._on_error(error)
            # The error itself has been handed over already; the caller needs its text only.
            return False, f"{type(error).__name__}: {error}"


def call(address: Address, name: str, *arguments: Any) -> Any:
    """Call a method of the coordinator and return its result.

    The connection is kept for the next call of this process.

    :raises JobFailedError: if the method raised, or if the coordinator is gone.
    """
    connection = _connections.get(address.place)
    if connection is not None:
        try:
            connection.send((name, arguments))
        except OSError:
            _forget(address)
            connection = None
    if connection is None:
        connection = _connections[address.place] = _connect(address)
        connection.send((name, arguments))
    try:
        if not connection.poll(TIMEOUT_SECONDS):
            raise TimeoutError(f"no answer for {TIMEOUT_SECONDS:.0f} s")
        succeeded, result = connection.recv()
    except (OSError, EOFError) as error:
        _forget(address)
        raise _gone(error) from None
    if not succeeded:
        raise JobFailedError(f"the coordinator failed: {result}")
    return result


def _connect(address: Address) -> Connection[Any, Any]:
    host, colon, port = address.place.rpartition(":")
    place: Any = (host, int(port)) if colon and not host.startswith("/") else address.place
    try:
        return Client(place, authkey=bytes.fromhex(address.secret))
    except (OSError, EOFError, AuthenticationError) as error:
        raise _gone(error) from None


def _forget(address: Address) -> None:
    connection = _connections.pop(address.place, None)
    if connection is not None:
        connection.close()


def _gone(error: BaseException) -> JobFailedError:
    return JobFailedError(
        "the process that started the job cannot be reached",
        got=f"{type(error).__name__}: {error}" if str(error) else type(error).__name__,
    )
