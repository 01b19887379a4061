"""What an engine tells of a job, and what becomes of it: read model, log, reporters, archive."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.metadata import version

from penstock.common import JobStatus
from penstock.execution.executor import JobRequest
from penstock.execution.facts.archive import archive_job, write_facts
from penstock.execution.facts.job_facts import EngineFacts, JobFacts
from penstock.execution.facts.snapshot import JobSnapshot, LogFile
from penstock.execution.job_log import close_log, open_log
from penstock.execution.reporters import start_reporters

_log = logging.getLogger(__name__)


class JobRecorder:
    """Keep the facts of one job for all who show them, from its submission to its end."""

    def __init__(self, request: JobRequest, job_id: str) -> None:
        self._settings = request.configuration
        self._name = request.job_name
        self._job_id = job_id
        self._job_log = open_log(job_id, self._settings)
        self.facts = JobFacts(
            request.plan,
            job_id=job_id,
            name=request.job_name,
            configuration=request.configuration,
            now=_now(),
        )
        self.runs_on("")
        self._stop_reporters = start_reporters(self.snapshot, self._settings)

    def runs_on(self, master: str, slots: int = 0, logs: Sequence[LogFile] = ()) -> None:
        """Learn where the job runs.

        :param logs: further files to be read, beside the job's own.
        """
        host, pid = socket.gethostname(), os.getpid()
        self.facts.told_engine(EngineFacts(master, host, pid, slots, _version(), list(logs)))

    def becomes(self, status: JobStatus) -> None:
        """Learn what the job does now."""
        before = self.facts.state
        if before == status.name:
            return
        self.facts.state_changed(status.name, _now())
        self._say(logging.INFO, f"Job {self._name} ({self._job_id}) switched from state "
                                f"{before} to {status.name}.")  # fmt: skip
        with self._unharmed("facts"):
            write_facts(self.snapshot(), self._settings)
        if status.is_globally_terminal_state():
            self._end()

    def attempt_begins(self, number: int) -> None:
        """Learn that the job is tried once more."""
        self.facts.attempt_began(number, _now())

    def attempt_failed(self, error: BaseException) -> None:
        """Learn why an attempt has failed."""
        self.facts.failed(error, _now())
        self._say(logging.ERROR, f"Job {self._name} ({self._job_id}) failed: "
                                 f"{type(error).__name__}: {error}")  # fmt: skip

    def snapshot(self, since: int = 0) -> JobSnapshot:
        """Return what is known now."""
        found = self.facts.snapshot(_now(), since)
        found.logs[:0] = self._job_log.files()
        return found

    def _end(self) -> None:
        with self._unharmed("archive"):
            archive_job(self.snapshot(), self._settings)
        with self._unharmed("reporters"):
            self._stop_reporters()
        close_log(self._job_id)

    def _say(self, level: int, text: str) -> None:
        with self._unharmed("log"):
            self._job_log.say(level, text)

    @contextlib.contextmanager
    def _unharmed(self, what: str) -> Iterator[None]:
        """Go on whatever happens: a job does not fail for want of an onlooker."""
        try:
            yield
        except Exception:
            _log.warning("%s of job %s: cannot be written", what, self._job_id, exc_info=True)


@lru_cache(maxsize=1)
def _version() -> str:
    return version("penstock")


def _now() -> int:
    return time.time_ns() // 1_000_000
