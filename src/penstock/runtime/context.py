"""What a user function sees of its place: the runtime context, and its timer service."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from penstock.common.config_options import ConfigOption
from penstock.common.options import JOB_PARAMETERS
from penstock.core.functions import Accumulator, FunctionInitializationContext
from penstock.core.functions.host import HostContext
from penstock.core.metrics import MetricGroup
from penstock.core.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    KeyedStateStore,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    OperatorStateStore,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from penstock.core.time import TimerService
from penstock.errors import ProgramError, StateError
from penstock.graph.plan import ExecutionPlan, PlanOperator
from penstock.runtime.codec import dumps, loads
from penstock.runtime.scope import Scope
from penstock.runtime.state.keyed_backend import KEY_TIMERS, KeyedBackend
from penstock.runtime.state.operator_state import OperatorStateBackend

T = TypeVar("T")

#: What the engine tells its workers about the job.
JOB_ID_SETTING = "penstock.job-id"
ATTEMPT_SETTING = "penstock.attempt"
JOB_FOLDER_SETTING = "penstock.job-folder"
#: A folder of the machine that submits the job, for what only has to last for a batch.
LOCAL_FOLDER_SETTING = "penstock.local-folder"


def job_id_of(plan: ExecutionPlan) -> str:
    """Return the id of the job that a worker's plan belongs to."""
    return str(plan.settings.get(JOB_ID_SETTING, ""))


class OperatorRuntimeContext(HostContext):
    """The runtime context of one subtask of one operator."""

    def __init__(
        self,
        plan: PlanOperator,
        subtask: int,
        backend: KeyedBackend | None,
        scope: Scope,
        settings: dict[str, Any],
        batch_mode: bool,
    ) -> None:
        self._plan = plan
        self._subtask = subtask
        self._settings = settings
        self.backend = backend
        self.operator_state = OperatorStateBackend(plan.describe())
        #: Whether the operator goes on from the state of an earlier batch.
        self.restored = False
        #: Why there is no keyed state, where not for want of a key.
        self.no_state: str | None = None
        self.batch_mode = batch_mode
        self.scope = scope
        self.accumulators: dict[str, Accumulator[Any, Any]] = {}
        self.metrics = MetricGroup(lambda: scope.time, (plan.name, str(subtask)))

    def initialization(self) -> FunctionInitializationContext:
        """Return what a function with operator state is told when it gets it."""
        return _Initialization(self)

    def setting(self, option: ConfigOption[T]) -> T:
        """Return a setting of the job."""
        return option.read(self._settings)

    @property
    def job_folder(self) -> str | None:
        """The coordinator's folder, if the engine told of it."""
        return self._settings.get(JOB_FOLDER_SETTING)

    def get_job_id(self) -> str:
        """Return the id of the job."""
        return str(self._settings.get(JOB_ID_SETTING, ""))

    def get_task_name(self) -> str:
        """Return the name of the task."""
        return self._plan.chain or self._plan.name

    def get_number_of_parallel_subtasks(self) -> int:
        """Return the operator's parallelism."""
        return self._plan.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the operator's maximum parallelism."""
        return self._plan.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Return the index of this subtask, from zero."""
        return self._subtask

    def get_attempt_number(self) -> int:
        """Return how often the job has been restarted since it was submitted."""
        return int(self._settings.get(ATTEMPT_SETTING, 0))

    def get_job_parameter(self, key: str, default_value: str | None = None) -> str | None:
        """Return a global job parameter."""
        return self._job_parameters.get(key, default_value)

    @cached_property
    def _job_parameters(self) -> dict[str, str]:
        # Functions ask for them record by record.
        return JOB_PARAMETERS.read(self._settings)

    def get_metrics_group(self) -> MetricGroup:
        """Return the group in which this function's metrics are registered."""
        return self.metrics

    # --- state ----------------------------------------------------------------------------

    def keyed_state(self) -> KeyedBackend:
        """Return where the state of the current key comes from.

        :raises StateError: on a stream that is not keyed.
        """
        if self.backend is None:
            raise StateError(
                self.no_state or "keyed state can only be used on a keyed stream",
                where=self._plan.describe(),
                todo="call key_by(...) on the stream in front of this function"
                if self.no_state is None
                else "keep it in a process function in front of this one or behind it",
            )
        return self.backend

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """Return a value."""
        return self.keyed_state().get_state(state_descriptor)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Return a list."""
        return self.keyed_state().get_list_state(state_descriptor)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """Return a map."""
        return self.keyed_state().get_map_state(state_descriptor)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """Return a value that is reduced as elements are added."""
        return self.keyed_state().get_reducing_state(state_descriptor)

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        """Return an accumulator that grows as elements are added."""
        return self.keyed_state().get_aggregating_state(state_descriptor)

    # --- accumulators ---------------------------------------------------------------------

    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """Register an accumulator."""
        if name in self.accumulators:
            raise ProgramError(
                f"the accumulator {name!r} exists already",
                where=self._plan.describe(),
                todo="give each accumulator of a function its own name",
            )
        self.accumulators[name] = accumulator

    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        """Return the accumulator of that name, or None."""
        return self.accumulators.get(name)

    def dump_accumulators(self) -> bytes | None:
        """Return the accumulators as bytes, None if there are none."""
        return dumps(self.accumulators) if self.accumulators else None

    def load_accumulators(self, data: bytes) -> None:
        """Take the saved values over into the accumulators that `open` registered.

        The objects stay: the user's function holds on to them.
        """
        for name, saved in loads(data).items():
            current = self.accumulators.get(name)
            if current is None:
                self.accumulators[name] = saved
            else:
                current.__dict__.update(saved.__dict__)

    # --- metrics --------------------------------------------------------------------------

    def read_metrics(self) -> bytes | None:
        """Return kinds and readings of the function's metrics as bytes, None if there are none."""
        readings = self.metrics.readings()
        return dumps(readings) if readings else None

    def dump_metrics(self) -> bytes | None:
        """Return what the metrics must know to go on as bytes, None if there are none."""
        saved = self.metrics.save()
        return dumps(saved) if saved else None

    def load_metrics(self, data: bytes) -> None:
        """Undo `dump_metrics`."""
        self.metrics.restore(loads(data))


class _Initialization(FunctionInitializationContext):
    """See `FunctionInitializationContext`."""

    def __init__(self, context: OperatorRuntimeContext) -> None:
        self._context = context

    def is_restored(self) -> bool:
        return self._context.restored

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._context.operator_state

    def get_keyed_state_store(self) -> KeyedStateStore:
        return self._context.keyed_state()


class OperatorTimerService(TimerService):
    """Clocks of one operator. Without keys there are no timers."""

    def __init__(self, scope: Scope, watermark: Callable[[], int], where: str) -> None:
        self._scope = scope
        self._watermark = watermark
        self._where = where

    def current_processing_time(self) -> int:
        """Return the processing time; it stands still inside a batch."""
        return self._scope.time

    def current_watermark(self) -> int:
        """Return the operator's watermark."""
        return self._watermark()

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Refuse to set a timer."""
        raise StateError(
            "timers can only be set on a keyed stream",
            where=self._where,
            todo="call key_by(...) in front and use a keyed process function",
        )

    register_event_time_timer = register_processing_time_timer
    delete_processing_time_timer = register_processing_time_timer
    delete_event_time_timer = register_processing_time_timer


class KeyedTimerService(OperatorTimerService):
    """Clocks and timers of one operator, for the current key."""

    def __init__(
        self, backend: KeyedBackend, scope: Scope, watermark: Callable[[], int], where: str
    ) -> None:
        super().__init__(scope, watermark, where)
        self._current = backend.context
        backend.timer_kind = KEY_TIMERS
        self._event_timers = backend.event_timers
        self._processing_timers = backend.processing_timers

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Set a timer that fires once processing time has reached `timestamp`."""
        if not isinstance(timestamp, int):
            raise self._no_time(timestamp)
        self._processing_timers.register(timestamp, self._current.key)

    def register_event_time_timer(self, timestamp: int) -> None:
        """Set a timer that fires once the watermark has reached `timestamp`."""
        if not isinstance(timestamp, int):
            raise self._no_time(timestamp)
        self._event_timers.register(timestamp, self._current.key)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Remove a processing-time timer."""
        self._processing_timers.delete(timestamp, self._current.key)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Remove an event-time timer."""
        self._event_timers.delete(timestamp, self._current.key)

    def _no_time(self, timestamp: Any) -> ProgramError:
        return ProgramError(
            "the time of a timer is a number of milliseconds",
            where=self._where,
            got=repr(timestamp),
            todo="pass an int, for instance ctx.timestamp() + 5000; ctx.timestamp() is None "
            "for a record without an event time",
        )
