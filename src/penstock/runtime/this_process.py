"""Who runs here: the host, the process, and the memory that it holds."""

from __future__ import annotations

import contextlib
import os
import socket
from functools import lru_cache
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def host_name() -> str:
    """Return the name of this machine."""
    return _host()


def worker_name() -> str:
    """Return `host:pid`."""
    return f"{_host()}:{os.getpid()}"


def resident_memory() -> int:
    """Return the bytes of memory that this process holds, 0 if the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * _PAGE
    return 0


@lru_cache(maxsize=1)
def _host() -> str:
    return socket.gethostname()
