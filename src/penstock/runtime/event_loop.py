"""The event loop of a worker: asynchronous functions run on it, in a thread of its own.

There is one a process. It keeps running between batches, so that what a function opened on it (a
connection pool, say) stays usable.
"""

from __future__ import annotations

import asyncio
import os
import threading

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def worker_loop() -> asyncio.AbstractEventLoop:
    """Return the running loop of this process, started on first use."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_loop.run_forever, name="penstock-async", daemon=True)
            thread.start()
        return _loop


def _forget() -> None:
    """Start anew in a child process: threads do not survive a fork."""
    global _loop, _lock
    _loop = None
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)
