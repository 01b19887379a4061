"""Reach running jobs from another process of the same user, without a server.

A process that has started a job listens on a Unix socket in its own folder (`process_folder.py`),
which nobody else may enter. Beside the socket lies one file per job. Whoever looks for jobs looks
through the folders of this user; a socket that does not answer belongs to a process that is gone.

A request is one line of JSON, and so is the answer.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.common import JobClient
from penstock.errors import JobFailedError, JobNotFoundError, PenstockError
from penstock.execution.configuration import SUBMITTED_VARIABLE
from penstock.execution.executor import JobHandle
from penstock.execution.facts.json_form import to_json
from penstock.execution.process_folder import PREFIX, process_folder

_SOCKET = "control"
_JOBS = "jobs"
#: Longest path that a Unix socket may have on Linux.
_LONGEST_PATH = 108
#: How long a process that ends waits for the last answers to be sent.
_FINISH_SECONDS = 5.0
#: How long a process may take to say what it runs. A savepoint may take as long as it takes.
_ANSWER_SECONDS = 20.0


@dataclass(frozen=True)
class JobEntry:
    """A job that some process of this user runs."""

    job_id: str
    name: str
    #: When it was submitted, in seconds since the epoch.
    began: float
    pid: int
    socket: str
    status: str = ""

    def ask(self, what: str, timeout: float | None = None, **arguments: Any) -> Any:
        """Ask the job's process to do something, and return its answer.

        :param what: `status`, `facts` (with `since`), `cancel`, `savepoint`, `checkpoint`, `stop`
            or `cancel-with-savepoint`.
        :param timeout: seconds to wait; None: as long as it takes.
        :raises JobFailedError: with the reason if it could not be done.
        """
        request = {"do": what, "job": self.job_id, **arguments}
        try:
            answer = _exchange(self.socket, request, timeout)
        except (OSError, ValueError) as error:
            raise JobNotFoundError(
                f"job {self.job_id} does not answer",
                where=f"process {self.pid}",
                got=str(error) or type(error).__name__,
                todo="see with 'penstock list' whether it still runs",
            ) from None
        if "error" in answer:
            raise JobFailedError(answer["error"])
        return answer.get("value")


class ControlServer:
    """Answer requests about the jobs of this process. Made by `announce_job`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._jobs: dict[str, JobHandle] = {}
        self._pid = os.getpid()
        self._answering = 0
        self._idle = threading.Condition()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(folder / _SOCKET))
        self._listener.listen(16)
        os.register_at_fork(after_in_child=self._listener.close)
        # Whoever has stopped a job must hear of it, though the process ends with the job.
        atexit.register(self._finish_answers)
        (folder / _JOBS).mkdir(exist_ok=True)
        thread = threading.Thread(target=self._serve, name="penstock-control", daemon=True)
        thread.start()

    @property
    def is_usable(self) -> bool:
        """Whether this very process serves it, and its folder is still there."""
        return self._pid == os.getpid() and (self._folder / _SOCKET).exists()

    def add(self, job: JobHandle, name: str) -> None:
        """Let a job be found and asked."""
        self._jobs[job.job_id] = job
        entry = {"name": name, "began": time.time(), "pid": self._pid}
        path = self._folder / _JOBS / f"{job.job_id}.json"
        path.with_suffix(".tmp").write_text(json.dumps(entry), encoding="utf-8")
        path.with_suffix(".tmp").rename(path)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed with the process
            # A savepoint takes long: others must be able to ask meanwhile.
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with self._idle:
            self._answering += 1
        try:
            with connection, contextlib.suppress(OSError), connection.makefile("rw") as file:
                file.write(json.dumps(self._answer_to(file.readline())) + "\n")
                file.flush()
        finally:
            with self._idle:
                self._answering -= 1
                self._idle.notify_all()

    def _answer_to(self, line: str) -> dict[str, Any]:
        try:
            return {"value": self._do(json.loads(line))}
        except PenstockError as error:
            return {"error": str(error)}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}

    def _finish_answers(self) -> None:
        if self._pid == os.getpid():
            with self._idle:
                self._idle.wait_for(lambda: self._answering == 0, _FINISH_SECONDS)

    def _do(self, request: dict[str, Any]) -> Any:
        job = self._jobs.get(request["job"])
        if job is None:
            raise JobNotFoundError(f"there is no job {request['job']} in process {self._pid}")
        action = _ACTIONS.get(request["do"])
        if action is None:
            raise JobFailedError(f"nobody knows how to {request['do']!r} a job")
        return action(job, request)


def _savepoint(job: JobHandle, asked: dict[str, Any]) -> str:
    return JobClient(job).trigger_savepoint(asked["directory"]).result()


def _stop(job: JobHandle, asked: dict[str, Any]) -> str:
    return JobClient(job).stop_with_savepoint(asked["drain"], asked["directory"]).result()


def _cancel_with_savepoint(job: JobHandle, asked: dict[str, Any]) -> str:
    return JobClient(job).cancel_with_savepoint(asked["directory"]).result()


def _checkpoint(job: JobHandle, asked: dict[str, Any]) -> int:
    trigger: Callable[[], int] | None = getattr(job, "trigger_checkpoint", None)
    if trigger is None:
        raise JobFailedError("this executor completes no checkpoints on request")
    return trigger()


def _facts(job: JobHandle, asked: dict[str, Any]) -> dict[str, Any] | None:
    found = job.snapshot(int(asked.get("since", 0)))
    return None if found is None else to_json(found)


_ACTIONS: dict[str, Callable[[JobHandle, dict[str, Any]], Any]] = {
    "status": lambda job, _: job.status().name,
    "facts": _facts,
    "cancel": lambda job, _: JobClient(job).cancel().result(),
    "savepoint": _savepoint,
    "checkpoint": _checkpoint,
    "stop": _stop,
    "cancel-with-savepoint": _cancel_with_savepoint,
}

_guard = threading.Lock()
_server: ControlServer | None = None


def announce_job(job: JobHandle, name: str) -> None:
    """Let other processes of this user find a job and control it.

    The command line that has started the program is told the job's id.

    Where that cannot be (no Unix sockets, a temporary folder with too long a name) the job runs
    all the same.
    """
    global _server
    with _guard, contextlib.suppress(OSError, AttributeError):
        if _server is None or not _server.is_usable:
            folder = process_folder().path
            if len(os.fsencode(str(folder / _SOCKET))) < _LONGEST_PATH:
                _server = ControlServer(folder)
        if _server is not None:
            _server.add(job, name)
    if os.environ.get(SUBMITTED_VARIABLE):
        print(f"Job has been submitted with JobID {job.job_id}", flush=True)


def announced_jobs() -> list[JobEntry]:
    """Return the jobs of this user on this machine without asking their processes.

    Some of them may be gone, and none has a status.
    """
    return list(_entries(Path(tempfile.gettempdir())))


def running_jobs() -> list[JobEntry]:
    """Return the jobs of this user on this machine that answer, the oldest first."""
    jobs = []
    for entry in announced_jobs():
        with contextlib.suppress(PenstockError):
            status = entry.ask("status", timeout=_ANSWER_SECONDS)
            jobs.append(JobEntry(**{**vars(entry), "status": str(status)}))
    return sorted(jobs, key=lambda job: job.began)


def find_job(job_id: str) -> JobEntry:
    """Return a job by its id.

    :raises JobNotFoundError: if no process of this user runs it.
    """
    jobs = running_jobs()
    for job in jobs:
        if job.job_id == job_id:
            return job
    raise JobNotFoundError(
        f"there is no job {job_id}",
        got=f"running: {', '.join(job.job_id for job in jobs) or 'none'}",
        todo="take the id from 'penstock list'",
    )


def _entries(parent: Path) -> Iterator[JobEntry]:
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            found = folder.lstat()
            # Another user could make a folder of such a name, with a socket of theirs.
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                continue
            for path in (folder / _JOBS).glob("*.json"):
                with contextlib.suppress(OSError, ValueError):
                    held = json.loads(path.read_text(encoding="utf-8"))
                    yield JobEntry(job_id=path.stem, socket=str(folder / _SOCKET), **held)


def _exchange(path: str, request: dict[str, Any], timeout: float | None) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        connection.connect(path)
        with connection.makefile("rw") as file:
            file.write(json.dumps(request) + "\n")
            file.flush()
            answer: dict[str, Any] = json.loads(file.readline())
            return answer
