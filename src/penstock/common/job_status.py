"""What a job is doing."""

from __future__ import annotations

from enum import Enum


class JobStatus(Enum):
    """What a job is doing."""

    #: Made, not running yet.
    CREATED = 0
    RUNNING = 1
    #: Failed, and on its way down.
    FAILING = 2
    FAILED = 3
    #: Asked to stop, and on its way down.
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    #: Failed, and starting again.
    RESTARTING = 7
    #: Given up here; another process may take it over.
    SUSPENDED = 8
    #: Being taken over after a restart.
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Return whether the job has ended for good."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Return whether nothing happens to the job any more in this process."""
        return self.is_globally_terminal_state() or self is JobStatus.SUSPENDED
