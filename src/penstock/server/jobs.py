"""Where the app finds jobs, and who does to them what is asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.errors import RequestError
from penstock.execution.facts.snapshot import JobSnapshot


@dataclass(frozen=True)
class Submission:
    """A program to run, with what `penstock run` takes as options."""

    #: None for a module.
    script: Path | None
    name: str = ""
    arguments: tuple[str, ...] = ()
    #: Settings by key.
    settings: Mapping[str, str] = field(default_factory=dict)
    module: str = ""
    #: Uploaded files by id, which settings name.
    files: Mapping[str, Path] = field(default_factory=dict)
    #: The program's interpreter; the session's own if left out.
    interpreter: str = ""


class Jobs(ABC):
    """What the app serves. All methods may be called by several threads at once."""

    #: Whether scripts can be submitted, and jobs cancelled.
    takes_scripts = False
    takes_orders = False
    #: Whether it serves jobs of the past alone.
    is_history = False

    @abstractmethod
    def all(self) -> list[JobSnapshot]:
        """Return what is known of every job."""

    def one(self, job_id: str) -> JobSnapshot:
        """Return what is known of a job.

        :raises RequestError: if there is no such job.
        """
        for job in self.all():
            if job.job_id == job_id:
                return job
        raise RequestError(404, f"Job {job_id} not found")

    def ask(self, job_id: str, what: str, **arguments: Any) -> Any:
        """Ask a job's process to do something, and wait for its answer.

        :param what: as `execution.job_control` has it: `cancel`, `savepoint`, `stop` ...
        """
        raise RequestError(405, "These jobs have ended, or are not this server's to control.")

    def submit(self, submission: Submission) -> str:
        """Have a script run, and return the id of its job."""
        raise RequestError(405, "This server runs no scripts.")

    def settings(self) -> Mapping[str, object]:
        """Return the settings of the server."""
        return {}

    def settings_of(self, job_id: str) -> Mapping[str, object]:
        """Return the settings that a job was submitted with, secrets and all, as far as known."""
        return {}

    def logs(self) -> Iterable[Path]:
        """Return the log files of the server itself."""
        return ()

    def uploads(self) -> Path | None:
        """Return the folder of uploaded scripts."""
        return None

    def facts_folder(self) -> Path | None:
        """Return where jobs that are started by hand leave what is known of them."""
        return None

    def shut_down(self) -> None:
        """End the server, not its jobs."""
        raise RequestError(405, "This server ends with its process.")
