"""A server: prepared in a folder of its own, started, watched, stopped by its process id."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: How long a server may take to answer, on a machine that has other things to do.
START_SECONDS = 180.0
_STOP_SECONDS = 30.0
_PR_SET_PDEATHSIG = 1

Facts = dict[str, Any]


class ServiceError(Exception):
    """A server cannot be installed or does not start."""


@dataclass(frozen=True)
class Launch:
    """How a server's process is started."""

    command: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Run as this user, where root starts it and the server does not want to be root.
    user: str | None = None


class Kind(ABC):
    """What there is to know about one kind of server."""

    name: str

    @abstractmethod
    def install(self) -> None:
        """Fetch what is missing, once for this machine. Does nothing if all is there."""

    @abstractmethod
    def prepare(self, folder: Path) -> Facts:
        """Lay out an empty server in a folder; return its ports and whatever it needs to know."""

    @abstractmethod
    def launch(self, folder: Path, facts: Facts) -> list[Launch]:
        """Return the processes to start; the last one is the server."""

    @abstractmethod
    def answers(self, facts: Facts) -> bool:
        """Tell whether the server serves. Must not wait for long."""

    @abstractmethod
    def address(self, facts: Facts) -> Facts:
        """Return what a client needs: host, port, user, password, URL."""

    def settle(self, folder: Path, facts: Facts) -> None:  # noqa: B027 - optional hook
        """Do what needs a server that answers, once, after its first start."""


class Server:
    """A server on this machine. Its folder tells all about it, to other processes as well."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.kind = kind
        self.folder = folder
        self._state: Facts = json.loads((folder / "server.json").read_text())

    @property
    def address(self) -> Facts:
        """Return what a client needs to connect."""
        return self.kind.address(self._state["facts"])

    @property
    def pids(self) -> list[int]:
        """Return the ids of the server's processes that are alive."""
        return [pid for pid, began in self._state["processes"] if _start_time(pid) == began]

    @property
    def log(self) -> str:
        """Return the end of what the server has written."""
        path = self.folder / "server.log"
        return path.read_text(errors="replace")[-4000:] if path.exists() else ""

    def start(self, *, die_with_parent: bool = False) -> Server:
        """Start the processes and wait until the server answers.

        :param die_with_parent: let the kernel end the server when this thread ends.
        :raises ServiceError: if it does not.
        """
        if self.pids:
            return self
        facts = self._state["facts"]
        processes = []
        for launch in self.kind.launch(self.folder, facts):
            pid = _spawn(launch, self.folder, die_with_parent)
            processes.append((pid, _start_time(pid)))
        self._state["processes"] = processes
        self._save()
        self._wait()
        if not self._state.get("settled"):
            self.kind.settle(self.folder, facts)
            self._state["settled"] = True
            self._save()
        return self

    def stop(self) -> None:
        """End the server in good order; with force if it takes its time."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the server at once, as when its machine fails. It may be started again."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Let the server be silent, as behind a network that is gone."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused server go on."""
        self._signal(signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        self._signal(how)
        deadline = time.monotonic() + _STOP_SECONDS
        while self.pids:
            if time.monotonic() > deadline:
                self._signal(signal.SIGKILL)
            _reap(self.pids)
            time.sleep(0.05)

    def _signal(self, what: signal.Signals) -> None:
        for pid in self.pids:
            try:
                # Each has a process group of its own, with what it started.
                os.killpg(pid, what)
            except ProcessLookupError:
                continue

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.kind.answers(self._state["facts"]):
            _reap(self.pids)
            if not self.pids or time.monotonic() > deadline:
                raise ServiceError(f"{self.kind.name} does not answer:\n{self.log}")
            time.sleep(0.1)

    def _save(self) -> None:
        write_atomically(self.folder / "server.json", json.dumps(self._state))


def start(kind: Kind, folder: Path, *, die_with_parent: bool = False) -> Server:
    """Install, prepare and start a server in a folder; one that is there already goes on."""
    if not (folder / "server.json").exists():
        kind.install()
        shutil.rmtree(folder, ignore_errors=True)  # what an interrupted start left behind
        folder.mkdir(parents=True)
        folder.chmod(0o755)
        state = {"facts": kind.prepare(folder), "processes": []}
        write_atomically(folder / "server.json", json.dumps(state))
    return Server(kind, folder).start(die_with_parent=die_with_parent)


def free_port() -> int:
    """Return a port of the loopback interface that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def exchange(port: int, question: bytes, seconds: float = 2.0) -> bytes:
    """Connect, say something and return the first bytes of the answer; empty if there is none."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
            if question:
                connection.sendall(question)
            return connection.recv(256)
    except OSError:
        return b""


def write_atomically(path: Path, text: str) -> None:
    """Create or replace a file as a whole."""
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(text)
    unfinished.replace(path)


def _spawn(launch: Launch, folder: Path, die_with_parent: bool) -> int:
    as_user: dict[str, Any] = {}
    if launch.user is not None and os.geteuid() == 0:
        as_user = {"user": launch.user, "group": launch.user, "extra_groups": []}
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(
            launch.command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env={**os.environ, **launch.environment},
            start_new_session=True,
            preexec_fn=_follow_parent() if die_with_parent else None,
            **as_user,
        )
    return process.pid


def _follow_parent() -> Callable[[], None]:
    # Loaded before the fork: the child of a process with threads must not load anything.
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _start_time(pid: int) -> str | None:
    """Return what tells a process from a later one with the same id; None if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def _reap(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue  # another process started it
