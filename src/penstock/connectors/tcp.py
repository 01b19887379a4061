"""Connections to a server, and why they fail, in words."""

from __future__ import annotations

import os
import socket

CONNECT_SECONDS = 10.0


def connect(host: str, port: int) -> socket.socket:
    """Return a connection without a timeout; give up trying after some seconds."""
    connection = socket.create_connection((host, port), CONNECT_SECONDS)
    connection.settimeout(None)
    return connection


def reason(error: OSError) -> str:
    """Return what is behind an error of a connection, as the end of a sentence."""
    if isinstance(error, TimeoutError):
        return f"no answer for {CONNECT_SECONDS:.0f} seconds"
    if isinstance(error, socket.gaierror) or error.errno is None:
        return (error.strerror or str(error)).lower()
    return os.strerror(error.errno).lower()
