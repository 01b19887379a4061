"""Connections to a server, and why they fail, in words."""

from __future__ import annotations

import os
import socket
from pathlib import Path

CONNECT_SECONDS = 10.0

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
#: The kernel's tables of TCP sockets, and the state of one that waits for connections.
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENING = "0A"


def connect(host: str, port: int) -> socket.socket:
    """Return a connection without a timeout; give up trying after some seconds."""
    connection = socket.create_connection((host, port), CONNECT_SECONDS)
    connection.settimeout(None)
    return connection


def refusal(host: str, port: int) -> OSError | None:
    """Return why nobody can connect to a port of this machine now; None if it is not certain.

    A server that is there notices nothing: many serve only the first who comes, so a connection is
    tried only if the kernel knows no listener. What forwards ports unseen by the kernel may answer.
    """
    if host not in _THIS_MACHINE or _may_listen(port):
        return None
    try:
        connect(host, port).close()
    except OSError as error:
        return error
    return None


def _may_listen(port: int) -> bool:
    """Tell whether a socket listens at a port of any address; True if the kernel does not say."""
    entries: list[list[str]] = []
    try:
        for table in _TABLES:
            # Number, local address, remote address, state, and more.
            entries += [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return True
    wanted = f":{port:04X}"
    return any(entry[1].endswith(wanted) and entry[3] == _LISTENING for entry in entries)


def reason(error: OSError) -> str:
    """Return what is behind an error of a connection, as the end of a sentence."""
    if isinstance(error, TimeoutError):
        return f"no answer for {CONNECT_SECONDS:.0f} seconds"
    if isinstance(error, socket.gaierror) or error.errno is None:
        return (error.strerror or str(error)).lower()
    return os.strerror(error.errno).lower()
