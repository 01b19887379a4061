"""What runs a job: the protocol between the API and an engine, and how an engine is found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

from penstock.common import JobExecutionResult, JobStatus
from penstock.errors import ConfigurationError
from penstock.execution.facts.snapshot import JobSnapshot
from penstock.execution.notebook_view import show_live, to_html
from penstock.graph.plan import ExecutionPlan

#: Entry point group under which engines are registered.
EXECUTORS = "penstock.executors"
DEFAULT_EXECUTOR = "spark"


@dataclass(frozen=True)
class JobRequest:
    """A job as the API hands it over."""

    plan: ExecutionPlan
    configuration: dict[str, str] = field(default_factory=dict)
    job_name: str = ""


class JobHandle(ABC):
    """A job that was submitted."""

    job_id: str

    @abstractmethod
    def status(self) -> JobStatus:
        """Return what the job is doing now."""

    @abstractmethod
    def wait(self) -> JobExecutionResult:
        """Wait until the job has ended, and return its result.

        :raises JobError: if it did not end as FINISHED. May be called again, with the same outcome.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Ask the job to end now. Returns at once; does nothing to a job that has ended."""

    @abstractmethod
    def accumulators(self) -> dict[str, Any]:
        """Return the values of all accumulators up to now, by name."""

    def metrics(self) -> dict[str, Any]:
        """Return the readings of all metrics as of the last batch, by full name.

        An engine that keeps no metrics has none to return.
        """
        return {}

    def snapshot(self, since: int = 0) -> JobSnapshot | None:
        """Return all that is known of the job now, for those who show it.

        An engine that keeps no account of its jobs has nothing to return.

        :param since: leave out points, batches and checkpoints from before that time, in epoch
            milliseconds.
        """
        return None

    def to_html(self) -> str | None:
        """Return the job as a piece of HTML, None if there is nothing to show."""
        found = self.snapshot()
        return None if found is None else to_html(found)

    def show_live(self) -> bool:
        """Show the job in the notebook's cell that is running, and follow it until it ends.

        :returns: whether there was something to show, and a notebook to show it in.
        """
        return show_live(self.snapshot)


class Executor(ABC):
    """An engine. Made anew, without arguments, for each job."""

    @abstractmethod
    def submit(self, request: JobRequest) -> JobHandle:
        """Start a job and return at once."""


def find_executor(name: str = DEFAULT_EXECUTOR) -> Executor:
    """Return the engine that is registered under a name.

    :param name: value of the configuration key `execution.target`.
    :raises ConfigurationError: if there is none of that name.
    """
    known = {point.name: point for point in entry_points(group=EXECUTORS)}
    if name not in known:
        raise ConfigurationError(
            "there is no executor of that name",
            where="configuration key execution.target",
            got=repr(name),
            todo=f"use one of: {', '.join(sorted(known)) or 'none is installed'}",
        )
    executor: Executor = known[name].load()()
    return executor
