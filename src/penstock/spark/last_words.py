"""What a worker was doing when it died, in notes that outlive it.

Spark learns of a dead worker only that its connection has ended. So a worker notes what it is busy
with, in a file of its own: the operators of a task when it begins, and a few times a second the one
that is running. The daemon, whose child it is, notes how it ended. Nothing is done per record.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from penstock.errors import JobFailedError
from penstock.runtime.failure import operator_at
from penstock.runtime.job import Job
from penstock.runtime.this_process import resident_memory
from penstock.spark.worker_ends import END, STACK, VARIABLE

_SAMPLE_SECONDS = 0.2
#: How long the daemon may take to notice the end of a worker that Spark has noticed.
_PATIENCE_SECONDS = 2.0
_STACK_LINE = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)
_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE}

_notes: _Notes | None = None


class _Notes:
    """The notes of this worker."""

    def __init__(self, folder: str) -> None:
        self.owner = os.getpid()
        self._main = threading.get_ident()
        path = os.path.join(folder, str(self.owner))
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._busy = threading.Event()
        # The interrupt of a terminal reaches all its processes; it is the program's to act on.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        faulthandler.enable(open(path + STACK, "wb"), all_threads=False)  # noqa: SIM115 - kept
        self._exit = os._exit
        os._exit = self._note_exit
        threading.Thread(target=self._watch, name="penstock-notes", daemon=True).start()

    def begin(self, operators: list[str]) -> None:
        """Note what the task that begins may run."""
        self._write({"operators": operators})
        self._busy.set()

    def end(self) -> None:
        """Note that nothing is running."""
        self._busy.clear()
        os.ftruncate(self._file, 0)

    def _watch(self) -> None:
        while self._busy.wait():
            time.sleep(_SAMPLE_SECONDS)
            if self._busy.is_set():
                self._note_frame(sys._current_frames().get(self._main))

    def _note_frame(self, frame: FrameType | None) -> None:
        found = operator_at(frame)
        if found is not None:
            self._write({"operators": [found], "bytes": resident_memory()})

    def _note_exit(self, status: int) -> Any:
        if os.getpid() == self.owner and self._busy.is_set():
            self._note_frame(sys._getframe(1))
        self._exit(status)

    def _write(self, note: dict[str, Any]) -> None:
        data = json.dumps(note).encode()
        os.pwrite(self._file, data, 0)
        os.ftruncate(self._file, len(data))


@contextmanager
def busy_with(job: Job, level: int, source: int | None = None) -> Iterator[None]:
    """Note what runs in the block, in a worker, if somebody wants to know.

    :param source: of a task of level 0.
    """
    global _notes
    folder = os.environ.get(VARIABLE)
    if folder is None or not os.path.isdir(folder):
        yield
        return
    if _notes is None or _notes.owner != os.getpid():
        _notes = _Notes(folder)
    operators = job.plan.at_level(level)
    _notes.begin([op.describe() for op in operators if source in (None, op.id, op.origin)][:20])
    try:
        yield
    finally:
        _notes.end()


# ------------------------------------------------------------------------- the program's side


def told_by(folder: Path) -> JobFailedError | None:
    """Return what is known of a worker that has died, None if nothing is; and forget it."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not (ends := sorted(folder.glob(f"*{END}"), key=_age)):
        if time.monotonic() > deadline:
            return None
        time.sleep(0.05)
    deaths = [(path, _note(path)) for path in ends]
    # Who was busy; else whoever was the first to go.
    path, note = next(((path, note) for path, note in deaths if note), deaths[0])
    status = int(path.read_text() or 0)
    stack = folder / f"{path.name.removesuffix(END)}{STACK}"
    error = _describe(status, note, stack.read_text() if stack.exists() else "")
    for left in folder.iterdir():
        if left.suffix == END:
            left.unlink(missing_ok=True)
    return error


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _note(path: Path) -> dict[str, Any]:
    try:
        note: dict[str, Any] = json.loads(path.with_suffix("").read_text() or "{}")
    except (OSError, ValueError):
        return {}
    return note


def _describe(status: int, note: dict[str, Any], stack: str) -> JobFailedError:
    operators: list[str] = note.get("operators", [])
    where = operators[0] if len(operators) == 1 else None
    if len(operators) > 1:
        where = f"one of: {'; '.join(operators)}"
    memory = f"; it held {note['bytes'] / 1e6:,.0f} MB" if note.get("bytes") else ""
    if not os.WIFSIGNALED(status):
        return JobFailedError(
            "a worker process was ended by what ran in it",
            where=where,
            got=f"exit code {os.WEXITSTATUS(status)}",
            todo="raise an exception in place of os._exit(): the process is not the function's",
        )
    number = os.WTERMSIG(status)
    name = f"signal {number} ({signal.Signals(number).name})"
    if number in _CRASHES:
        frames = [f"{f}() at {file}:{line}" for file, line, f in _STACK_LINE.findall(stack)]
        return JobFailedError(
            "a worker process crashed inside native code",
            where=where,
            got=f"{name} in {frames[0]}" if frames else name,
            todo="look at the native library that is called there: another version of it may help",
        )
    return JobFailedError(
        "a worker process was killed",
        where=where,
        got=name + memory,
        todo="if the machine had run out of memory (its system log says so), let functions hold "
        "less, lower penstock.batch.max-records or the parallelism",
    )
