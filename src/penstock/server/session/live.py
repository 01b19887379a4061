"""What running jobs tell of themselves, asked over their sockets and kept for a moment."""

from __future__ import annotations

import threading
import time
from typing import Any

from penstock.errors import JobNotFoundError, PenstockError
from penstock.execution.facts.json_form import from_json
from penstock.execution.facts.merging import merged, since_of
from penstock.execution.facts.snapshot import JobSnapshot
from penstock.execution.job_control import JobEntry, announced_jobs

#: How long an answer is as good as a new one: a page asks for many things at once.
_FRESH_SECONDS = 0.3
#: How long a process may take until it answers for its job, and how often it is tried.
_BEGIN_SECONDS = 5.0
_PAUSE_SECONDS = 0.2
#: How long a process may take to tell.
_PATIENCE_SECONDS = 10.0


class LiveJobs:
    """The jobs of processes of this user on this machine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, JobSnapshot]] = {}
        self._entries: tuple[float, dict[str, JobEntry]] = (0.0, {})

    def find(self, job_id: str) -> JobEntry | None:
        """Return where a job can be asked."""
        return self.entries().get(job_id)

    def entries(self, fresh_seconds: float = _FRESH_SECONDS) -> dict[str, JobEntry]:
        """Return where jobs can be asked, by id."""
        with self._lock:
            at, found = self._entries
            if time.monotonic() - at > fresh_seconds:
                # A process that was killed leaves its job behind: the latest is the one.
                announced = sorted(announced_jobs(), key=lambda entry: entry.began)
                found = {entry.job_id: entry for entry in announced}
                self._entries = (time.monotonic(), found)
            return found

    def snapshot(self, job_id: str) -> JobSnapshot | None:
        """Return what a job tells now, or told last; None if it has never been heard."""
        with self._lock:
            at, known = self._known.get(job_id, (0.0, None))
        if known is not None and time.monotonic() - at < _FRESH_SECONDS:
            return known
        entry = self.find(job_id)
        if entry is None:
            return known
        try:
            # Ten minutes of points are much to tell several times a second.
            since = 0 if known is None else since_of(known)
            answer = entry.ask("facts", timeout=_PATIENCE_SECONDS, since=since)
        except PenstockError:
            return known  # about to end, or too busy
        if answer is None:
            return known
        fresh = from_json(answer)
        # A process that has taken the job over since knows it from its own beginning only.
        if known is not None and (known.pid, known.start_time) == (fresh.pid, fresh.start_time):
            fresh = merged(known, fresh, since)
        elif known is not None:
            return self._whole(job_id, entry, known)
        with self._lock:
            self._known[job_id] = (time.monotonic(), fresh)
        return fresh

    def _whole(self, job_id: str, entry: JobEntry, known: JobSnapshot) -> JobSnapshot:
        try:
            fresh = from_json(entry.ask("facts", timeout=_PATIENCE_SECONDS))
        except PenstockError:
            return known
        with self._lock:
            self._known[job_id] = (time.monotonic(), fresh)
        return fresh

    def forget(self, job_id: str) -> None:
        """Drop what a job told: it has left its last word on disk."""
        with self._lock:
            self._known.pop(job_id, None)

    def ask(self, job_id: str, what: str, **arguments: Any) -> Any:
        """Ask a job's process to do something.

        A process that was started this moment has a job before it answers for it.

        :raises JobNotFoundError: if no process answers for it in time.
        """
        until = time.monotonic() + _BEGIN_SECONDS
        while True:
            entry = self.entries(0.0).get(job_id)
            try:
                if entry is None:
                    raise JobNotFoundError(f"job {job_id} does not answer: it has not begun yet")
                return entry.ask(what, **arguments)
            except JobNotFoundError:
                if time.monotonic() > until:
                    raise
                time.sleep(_PAUSE_SECONDS)
