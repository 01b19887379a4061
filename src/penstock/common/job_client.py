"""What the user's program can do with a job that it has started."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from penstock.common.completable_future import CompletableFuture
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_id import JobID
from penstock.common.job_status import JobStatus
from penstock.errors import PenstockError, ProgramError

T = TypeVar("T")


class JobHandleProtocol(Protocol):
    """What a client needs of a running job; the engine provides it."""

    @property
    def job_id(self) -> str:
        """Return the id of the job."""

    def status(self) -> JobStatus:
        """Return what the job is doing now."""

    def wait(self) -> JobExecutionResult:
        """Wait for the end; raise a JobError unless it is FINISHED."""

    def cancel(self) -> None:
        """Ask the job to end."""

    def accumulators(self) -> dict[str, Any]:
        """Return the values of all accumulators up to now."""

    def metrics(self) -> dict[str, Any]:
        """Return the readings of all metrics as of the last batch."""


class JobClient:
    """A job that was started: ask about it, wait for it, cancel it.

    Made by `env.execute_async()`. The answers are futures, as in Flink.
    """

    def __init__(self, handle: JobHandleProtocol) -> None:
        self._handle = handle

    def get_job_id(self) -> JobID:
        """Return the name of the job."""
        return JobID(self._handle.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Return what the job is doing now."""
        return CompletableFuture.completed(self._handle.status())

    def cancel(self) -> CompletableFuture[None]:
        """Ask the job to end now; the future is done when it has ended.

        The status is CANCELED then, unless the job ended by itself before.
        """
        return self._ask(self._cancelled, "cancel")

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Write a savepoint and end the job; the future gives the savepoint's path.

        :param advance_to_end_of_event_time: send MAX_WATERMARK first, so that all event-time
            timers and windows fire.
        """
        stop = self._savepoint_method("stop_with_savepoint")
        return self._ask(lambda: stop(advance_to_end_of_event_time, savepoint_directory), "stop")

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Write a savepoint while the job goes on; the future gives the savepoint's path."""
        trigger = self._savepoint_method("trigger_savepoint")
        return self._ask(lambda: trigger(savepoint_directory), "savepoint")

    def cancel_with_savepoint(
        self, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Write a savepoint and cancel the job; the future gives the savepoint's path.

        What comes between the two is done, and done again by whoever goes on from the savepoint:
        `stop_with_savepoint` ends the job exactly at the savepoint.
        """
        trigger = self._savepoint_method("trigger_savepoint")

        def cancel() -> str:
            path = trigger(savepoint_directory)
            self._cancelled()
            return path

        return self._ask(cancel, "cancel")

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Return the values of all accumulators up to now, by name."""
        return CompletableFuture.completed(self._handle.accumulators())

    def get_metrics(self) -> CompletableFuture[dict[str, Any]]:
        """Return the readings of the functions' metrics as of the last batch.

        They stand under their full names: the operator, the subtask, then the groups and the name
        that the function gave; with the operator's uid in front where several have its name.
        """
        return CompletableFuture.completed(self._handle.metrics())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Return the result of the job; its future raises if the job does not finish."""
        return self._ask(self._handle.wait, "result")

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows of the job."""
        render: Callable[[], str | None] | None = getattr(self._handle, "to_html", None)
        return None if render is None else render()

    def _ipython_display_(self) -> None:
        """Show the job in a notebook: a view that follows it until it ends."""
        show: Callable[[], bool] | None = getattr(self._handle, "show_live", None)
        if show is None or not show():
            print(repr(self))

    def _cancelled(self) -> None:
        self._handle.cancel()
        # How the job ends is the affair of whoever waits for its result.
        with contextlib.suppress(PenstockError):
            self._handle.wait()

    def _ask(self, question: Callable[[], T], name: str) -> CompletableFuture[T]:
        return CompletableFuture.supply_async(question, name=f"penstock-job-{name}")

    def _savepoint_method(self, name: str) -> Callable[..., str]:
        method: Callable[..., str] | None = getattr(self._handle, name, None)
        if method is None:
            raise ProgramError(
                "this executor cannot make savepoints",
                where=f"JobClient.{name}, job {self._handle.job_id}",
                todo="use retained checkpoints (execution.checkpointing.dir) to go on later",
            )
        return method
