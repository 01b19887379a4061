"""What a function of a DataSet program sees of its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from penstock.common import Configuration
from penstock.core.batch.aggregators import Aggregator
from penstock.core.batch.distributed_cache import DistributedCache
from penstock.core.functions import Accumulator, RuntimeContext
from penstock.core.functions.batch import BroadcastVariableInitializer
from penstock.core.metrics import MetricGroup
from penstock.core.pickling import detached
from penstock.errors import ProgramError, StateError


class Reporter(Protocol):
    """Where subtasks leave what they have counted. A report of the same place replaces another."""

    def add(self, report: dict[Any, Any]) -> None:
        """Take a report."""


class BroadcastValue(Protocol):
    """A list that every worker has."""

    @property
    def value(self) -> list[Any]:
        """The list itself."""


@dataclass(frozen=True)
class Surroundings:
    """What all subtasks of one execution share."""

    job_id: str
    reporter: Reporter
    files: Mapping[str, str] = field(default_factory=dict)
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    #: Number of the superstep, from 1; 0 outside iterations.
    step: int = 0
    #: Aggregators of the iteration by name, empty; and their values in the step before.
    aggregators: Mapping[str, Aggregator[Any]] = field(default_factory=dict)
    previous: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """Which operator a stage belongs to."""

    node: int
    name: str
    site: str | None
    parallelism: int
    surroundings: Surroundings
    broadcast: Mapping[str, BroadcastValue] = field(default_factory=dict)
    parameters: Any = None

    def describe(self) -> str:
        """Say which operator, and where in the user's program it was made."""
        built = f", built at {self.site}" if self.site else ""
        return f"operator {self.name!r}{built}"


class BatchRuntimeContext(RuntimeContext):
    """The runtime context of one subtask; in an iteration also its iteration context."""

    def __init__(self, place: Place, subtask: int) -> None:
        self._place = place
        self._around = place.surroundings
        self._subtask = subtask
        self._accumulators: dict[str, Accumulator[Any, Any]] = {}
        self._aggregators: dict[str, Aggregator[Any]] = {}
        self._variables: dict[str, Any] = {}
        self._metrics = MetricGroup(lambda: 0, (place.name, str(subtask)))

    def get_job_id(self) -> str:
        """Return the id of the execution."""
        return self._around.job_id

    def get_task_name(self) -> str:
        """Return the name of the operator."""
        return self._place.name

    def get_number_of_parallel_subtasks(self) -> int:
        """Return the operator's parallelism."""
        return self._place.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the operator's parallelism: a data set has no key groups."""
        return self._place.parallelism

    def get_index_of_this_subtask(self) -> int:
        """Return the index of this subtask, from zero."""
        return self._subtask

    def get_attempt_number(self) -> int:
        """Return zero: a task that is run again does not know of it."""
        return 0

    def get_job_parameter(self, key: str, default_value: str | None = None) -> str | None:
        """Return a global job parameter."""
        return self._around.job_parameters.get(key, default_value)

    def get_parameters(self) -> Configuration:
        """Return what `with_parameters` gave to the operator; empty if nothing."""
        given = self._place.parameters
        return given if isinstance(given, Configuration) else Configuration()

    def get_metrics_group(self) -> MetricGroup:
        """Return the group in which this function's metrics are registered."""
        return self._metrics

    # --- broadcast sets and files ---------------------------------------------------------

    def has_broadcast_variable(self, name: str) -> bool:
        """Tell whether the operator was given a broadcast set of that name."""
        return name in self._place.broadcast

    def get_broadcast_variable(self, name: str) -> list[Any]:
        """Return all records of a broadcast set. Do not change the list.

        :raises ProgramError: if the operator was given none of that name.
        """
        if name not in self._place.broadcast:
            raise ProgramError(
                f"there is no broadcast set {name!r}",
                where=self._place.describe(),
                got=f"given: {', '.join(sorted(self._place.broadcast)) or 'none'}",
                todo=f"call with_broadcast_set(data_set, {name!r}) on the operator",
            )
        return self._place.broadcast[name].value

    def get_broadcast_variable_with_initializer(
        self, name: str, initializer: BroadcastVariableInitializer[Any, Any]
    ) -> Any:
        """Return what an initializer makes of a broadcast set, made once in a subtask."""
        if name not in self._variables:
            data = self.get_broadcast_variable(name)
            self._variables[name] = initializer.initialize_broadcast_variable(data)
        return self._variables[name]

    def get_distributed_cache(self) -> DistributedCache:
        """Return the files that the program registered."""
        return DistributedCache(self._around.files)

    # --- iterations -----------------------------------------------------------------------

    def get_iteration_runtime_context(self) -> BatchRuntimeContext:
        """Return the context of the iteration that the function is a part of.

        :raises ProgramError: outside iterations.
        """
        self._require_iteration()
        return self

    def get_superstep_number(self) -> int:
        """Return the number of the superstep, from 1."""
        self._require_iteration()
        return self._around.step

    def get_iteration_aggregator(self, name: str) -> Aggregator[Any]:
        """Return an aggregator, to add to in this superstep."""
        self._require_iteration()
        if name not in self._around.aggregators:
            raise ProgramError(
                f"the iteration has no aggregator {name!r}",
                where=self._place.describe(),
                got=f"registered: {', '.join(sorted(self._around.aggregators)) or 'none'}",
                todo="call register_aggregator(name, aggregator) on the iteration",
            )
        if name not in self._aggregators:
            self._aggregators[name] = detached(self._around.aggregators[name])
        return self._aggregators[name]

    def get_previous_iteration_aggregate(self, name: str) -> Any:
        """Return what all subtasks had added in the superstep before; None in the first."""
        self._require_iteration()
        return self._around.previous.get(name)

    def _require_iteration(self) -> None:
        if self._around.step == 0:
            raise ProgramError(
                "the function is not part of an iteration",
                where=self._place.describe(),
                todo="ask for the iteration's context between iterate() and close_with() only",
            )

    # --- accumulators ---------------------------------------------------------------------

    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """Register an accumulator."""
        if name in self._accumulators:
            raise ProgramError(
                f"the accumulator {name!r} exists already",
                where=self._place.describe(),
                todo="give each accumulator of a function its own name",
            )
        self._accumulators[name] = accumulator

    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        """Return the accumulator of that name, or None."""
        return self._accumulators.get(name)

    def report(self) -> None:
        """Leave what this subtask has counted."""
        if not self._accumulators and not self._aggregators:
            return
        place = (self._place.node, self._around.step, self._subtask)
        totals = {name: each.get_aggregate() for name, each in self._aggregators.items()}
        self._around.reporter.add({place: (self._accumulators, totals)})

    # --- state ----------------------------------------------------------------------------

    def get_state(self, state_descriptor: Any) -> NoReturn:
        """Refuse: a data set has no keyed state."""
        raise StateError(
            "there is no keyed state in a DataSet program",
            where=self._place.describe(),
            todo="use reduce_group, which sees a whole group at once, or the DataStream API",
        )

    get_list_state = get_map_state = get_state
    get_reducing_state = get_aggregating_state = get_state
