"""What the command line prints: Flink's lines, so that scripts that read them go on working."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Protocol

_RUNNING = "------------------ Running/Restarting Jobs -------------------"
_SCHEDULED = "----------------------- Scheduled Jobs -----------------------"
_TERMINATED = "---------------------- Terminated Jobs -----------------------"
_LINE = "--------------------------------------------------------------"
_ENDED = ("FINISHED", "FAILED", "CANCELED", "SUSPENDED")
_WAITING = ("CREATED", "SCHEDULED")


class Listed(Protocol):
    """A job as a list shows it."""

    @property
    def job_id(self) -> str:
        """32 hex digits."""

    @property
    def name(self) -> str:
        """The job's name."""

    @property
    def began(self) -> float:
        """When it was submitted, in seconds since the epoch."""

    @property
    def status(self) -> str:
        """One of Flink's words."""


def print_jobs(jobs: Sequence[Listed], *, running: bool, scheduled: bool, ended: bool) -> None:
    """Print jobs by what they are doing."""
    if running:
        active = [job for job in jobs if job.status not in (*_ENDED, *_WAITING)]
        _print_group(_RUNNING, active, "No running jobs.")
    if scheduled:
        waiting = [job for job in jobs if job.status in _WAITING]
        _print_group(_SCHEDULED, waiting, "No scheduled jobs.")
    if ended:
        over = [job for job in jobs if job.status in _ENDED]
        _print_group(_TERMINATED, over, "No terminated jobs.")


def _print_group(heading: str, jobs: Sequence[Listed], none: str) -> None:
    if not jobs:
        print(none)
        return
    print(heading)
    for job in jobs:
        began = time.strftime("%d.%m.%Y %H:%M:%S", time.localtime(job.began))
        print(f"{began} : {job.job_id} : {job.name} ({job.status})")
    print(_LINE)


def print_failure(error: BaseException) -> None:
    """Say on standard error why a command has failed."""
    print(f"\n{_LINE}", file=sys.stderr)
    print(" The program finished with the following exception:\n", file=sys.stderr)
    print(str(error) or type(error).__name__, file=sys.stderr)
