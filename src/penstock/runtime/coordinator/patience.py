"""Take a lock, but not at any price."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def patiently(lock: threading.RLock, seconds: float) -> Iterator[bool]:
    """Take a lock, but go on without it if somebody keeps it for longer than that."""
    taken = lock.acquire(timeout=seconds)
    try:
        yield taken
    finally:
        if taken:
            lock.release()
