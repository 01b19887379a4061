"""What a function can ask about the place it runs at."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from penstock.core.functions.accumulators import (
    Accumulator,
    DoubleCounter,
    Histogram,
    IntCounter,
    LongCounter,
)
from penstock.core.metrics import MetricGroup
from penstock.core.state.stores import KeyedStateStore
from penstock.errors import ProgramError


class RuntimeContext(KeyedStateStore):
    """Tell a function its place, and hand out its state, metrics and accumulators."""

    @abstractmethod
    def get_job_id(self) -> str:
        """Return the id of the job."""

    @abstractmethod
    def get_task_name(self) -> str:
        """Return the name of the task."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Return the operator's parallelism."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the operator's maximum parallelism, which is its number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Return the index of this subtask, from zero."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Return how many times this subtask has been tried before: zero at first."""

    def get_task_name_with_subtasks(self) -> str:
        """Return the task's name with the place of this subtask, as `Map (2/4)#0`."""
        place = f"({self.get_index_of_this_subtask() + 1}/{self.get_number_of_parallel_subtasks()})"
        return f"{self.get_task_name()} {place}#{self.get_attempt_number()}"

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str | None) -> str | None:
        """Return a global job parameter, set by `env.get_config().set_global_job_parameters`."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Return the group in which this function's metrics are registered."""

    def get_metric_group(self) -> MetricGroup:
        """Return the metric group, under the name that Flink's Java API has for it."""
        return self.get_metrics_group()

    @abstractmethod
    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """Register an accumulator; its total is part of the job's result.

        :raises ProgramError: if the name is taken.
        """

    @abstractmethod
    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        """Return the accumulator of that name in this subtask, or None."""

    def get_int_counter(self, name: str) -> IntCounter:
        """Return the IntCounter of that name, registered on first use."""
        return self._accumulator(name, IntCounter)

    def get_long_counter(self, name: str) -> LongCounter:
        """Return the LongCounter of that name, registered on first use."""
        return self._accumulator(name, LongCounter)

    def get_double_counter(self, name: str) -> DoubleCounter:
        """Return the DoubleCounter of that name, registered on first use."""
        return self._accumulator(name, DoubleCounter)

    def get_histogram(self, name: str) -> Histogram:
        """Return the Histogram of that name, registered on first use."""
        return self._accumulator(name, Histogram)

    def _accumulator(self, name: str, kind: type[Any]) -> Any:
        found = self.get_accumulator(name)
        if found is None:
            found = kind()
            self.add_accumulator(name, found)
        elif not isinstance(found, kind):
            raise ProgramError(
                f"accumulator {name!r} exists already as another kind",
                got=f"asked for {kind.__name__}, is {type(found).__name__}",
                todo="choose another name",
            )
        return found
