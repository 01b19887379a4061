"""Sockets to listen on."""

from __future__ import annotations

import socket

from penstock.errors import ConfigurationError


def listen(address: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 means any that is free.

    :raises ConfigurationError: if it cannot.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            "the REST server cannot listen",
            where=f"{address}:{port}",
            got=error.strerror or str(error),
            todo="choose another port (0: any that is free), or end what uses this one",
        ) from None
    return listener
