"""A process that has loaded what Spark's Python processes need, and becomes any of them.

Spark starts a Python interpreter for each thing that it asks Python: to make the source, to read
offsets, to look at each stateful level, to fork workers from. Each of them loads pyarrow, pyspark
and Penstock, while Spark waits. So one process loads them once, while the JVM starts. What Spark
takes for the interpreter is `nursery_client`: it hands its arguments, environment and open files
over to here, and a fork of this process goes on as what was asked for.

If a request is unlike this process (variables that an interpreter reads at its start, packages of
the job's own) it is refused, and the client becomes a real interpreter. The same happens when this
process is not there.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import runpy
import selectors
import signal
import socket
import sys
import time
import warnings
from typing import Any, NoReturn

from penstock.spark.internals import PYTHON_PROCESSES
from penstock.spark.nursery_client import FILES, REFUSED, TAKEN, receive

#: Everything that Spark's Python processes load for a job. pandas is not among it.
PRELOADED = ("pyarrow", *PYTHON_PROCESSES, "penstock.spark.slots", "penstock.spark.source")
#: With this in its environment, a worker has packages of its job's own in front of others.
_DEPENDENCIES = "PENSTOCK_DEPENDENCIES"
#: What an interpreter or a library reads once, at its start. A request may lack it.
_READ_AT_START = (
    *("PYTHONHASHSEED", "PYTHONHOME", "PYTHONOPTIMIZE", "PYTHONUTF8", "PYTHONIOENCODING"),
    *("PYTHONWARNINGS", "PYTHONDEVMODE", "PYTHONMALLOC", "PYTHONTRACEMALLOC"),
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "LANG", "LC_ALL", "LC_CTYPE"),
)
#: How long a process may take to end once it is told to.
_PATIENCE_SECONDS = 5.0


class Nursery:
    """Serve clients, a fork for each.

    :param listener: where they come to.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._clients: dict[int, socket.socket] = {}
        #: Processes that nobody waits for any more, and when they are killed.
        self._given_up: dict[int, float] = {}
        own = (os.environ.get("PYTHONPATH") or "").split(os.pathsep)
        #: The path of any interpreter here; what came with the environment is a request's own.
        self._path = [entry for entry in sys.path[1:] if entry not in own]

    def serve(self) -> None:
        """Serve until standard input ends, with the user's process."""
        woken, waking = os.pipe()
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for source in (self._listener, sys.stdin.fileno(), woken):
            self._selector.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select(1.0 if self._given_up else None):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj == woken:
                    os.read(woken, 4096)
                elif key.data is None:
                    return
                elif key.data in self._clients:
                    self._give_up(key.data)
            self._reap()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            request, files = receive(client)
        except (OSError, ValueError):
            client.close()
            return
        taken = len(files) == FILES and is_alike(request["environ"])
        pid = os.fork() if taken else -1
        if pid == 0:
            self._become(request, files)
        for file in files:
            os.close(file)
        with contextlib.suppress(OSError):
            client.sendall(TAKEN if taken else REFUSED)
        if taken:
            self._clients[pid] = client
            self._selector.register(client, selectors.EVENT_READ, pid)
        else:
            client.close()

    def _reap(self) -> None:
        """Tell the clients of processes that have ended how they have."""
        for pid, deadline in self._given_up.items():
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
        while self._clients or self._given_up:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._given_up.pop(pid, None)
            client = self._clients.pop(pid, None)
            if client is not None:
                self._selector.unregister(client)
                with contextlib.suppress(OSError):
                    client.sendall(status.to_bytes(4, "big"))
                client.close()

    def _give_up(self, pid: int) -> None:
        """End a process whose client has gone: Spark has ended what it takes for the process."""
        client = self._clients.pop(pid)
        self._selector.unregister(client)
        client.close()
        self._given_up[pid] = time.monotonic() + _PATIENCE_SECONDS
        os.kill(pid, signal.SIGTERM)

    def _become(self, request: dict[str, Any], files: list[int]) -> NoReturn:
        """Go on, in a fork, as the interpreter that was asked for."""
        code = 1
        try:
            self._selector.close()
            self._listener.close()
            for client in self._clients.values():
                client.close()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            os.chdir(request["folder"])
            os.environ.clear()
            os.environ.update(request["environ"])
            code = run_module(request["arguments"], self._path)
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)


def run_module(arguments: list[str], path: list[str]) -> int:
    """Do what `python -m module ...` does, and return its exit code.

    :param arguments: from `-m` on.
    :param path: of the interpreter, without the working directory and PYTHONPATH.
    """
    module = arguments[1]
    given = (os.environ.get("PYTHONPATH") or "").split(os.pathsep)
    sys.path[:] = [os.getcwd(), *(entry for entry in given if entry), *path]
    sys.argv = arguments[1:]
    _show_as([sys.executable, *arguments])
    # It runs as __main__, and is loaded as itself already.
    sys.modules.pop(module, None)
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="runpy")
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def is_alike(environ: dict[str, str]) -> bool:
    """Tell whether an interpreter with such an environment would be as this one is."""
    if _DEPENDENCIES in environ:
        return False
    return all(
        environ.get(name, os.environ.get(name)) == os.environ.get(name) for name in _READ_AT_START
    )


def _show_as(arguments: list[str]) -> None:
    """Let lists of processes show what a fork has become: `ps` reads it from this memory."""
    with contextlib.suppress(Exception):
        with open("/proc/self/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])
        text = b"\0".join(os.fsencode(argument) for argument in arguments)
        room = end - start - 1
        ctypes.memmove(start, text[:room].ljust(room, b"\0"), room)


def _reseed() -> None:
    """Give a fork random numbers of its own, as a new interpreter has them."""
    module = sys.modules.get("numpy.random")
    if module is not None:
        module.seed()


def main(listening: int) -> None:
    """Load what will be needed, then serve.

    :param listening: an open file, the socket that clients come to; early ones wait.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listener = socket.socket(fileno=listening)
    for name in PRELOADED:
        importlib.import_module(name)
    if len(os.listdir("/proc/self/task")) > 1:
        return  # a fork of a process with threads may hold locks that nobody releases
    os.register_at_fork(after_in_child=_reseed)
    gc.collect()
    gc.freeze()
    Nursery(listener).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
