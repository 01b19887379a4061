"""The result of a job that has finished."""

from __future__ import annotations

from typing import Any

from penstock.common.job_id import JobID
from penstock.errors import ProgramError


class JobExecutionResult:
    """What is known of a job that has finished.

    :param net_runtime: how long it ran, in milliseconds.
    :param accumulators: totals of its accumulators by name.
    :param metrics: last readings of its functions' metrics by full name.
    """

    def __init__(
        self,
        job_id: JobID | str,
        net_runtime: int,
        accumulators: dict[str, Any] | None = None,
        metrics: dict[str, Any] | None = None,
    ) -> None:
        self._job_id = job_id if isinstance(job_id, JobID) else JobID(job_id)
        self._net_runtime = net_runtime
        self._accumulators = dict(accumulators or {})
        self._metrics = dict(metrics or {})

    def get_job_id(self) -> JobID:
        """Return the name of the job."""
        return self._job_id

    def get_net_runtime(self) -> int:
        """Return how long the job ran, in milliseconds."""
        return self._net_runtime

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Return the total of an accumulator.

        :raises ProgramError: if the job has none of that name.
        """
        if accumulator_name not in self._accumulators:
            known = ", ".join(sorted(self._accumulators)) or "none"
            raise ProgramError(
                f"the job has no accumulator {accumulator_name!r}",
                where=f"job {self._job_id}",
                got=f"accumulators: {known}",
                todo="register it by get_runtime_context().add_accumulator(name, accumulator)",
            )
        return self._accumulators[accumulator_name]

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Return the totals of all accumulators by name."""
        return dict(self._accumulators)

    def get_all_metrics(self) -> dict[str, Any]:
        """Return the last readings of the functions' metrics.

        They stand under their full names: the operator, the subtask, then the groups and the name
        that the function gave.
        """
        return dict(self._metrics)

    def is_job_execution_result(self) -> bool:
        """Return True: this is the result of a job that has finished, not of one submitted."""
        return True

    def __str__(self) -> str:
        lines = [
            "Program execution finished",
            f"Job with JobID {self._job_id} has finished.",
            f"Job Runtime: {self._net_runtime} ms",
        ]
        if self._accumulators:
            lines.append("Accumulator Results:")
            lines += [f"- {name}: {value}" for name, value in sorted(self._accumulators.items())]
        return "\n".join(lines)
