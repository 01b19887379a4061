"""The runtime context of a source function, which runs in the user's process."""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.core.functions.accumulators import Accumulator
from penstock.core.functions.checkpointed import FunctionInitializationContext
from penstock.core.functions.host import HostContext
from penstock.core.io import EnumeratorContext
from penstock.core.key_groups import default_max_parallelism
from penstock.core.metrics import MetricGroup
from penstock.core.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.core.state.stores import KeyedStateStore, OperatorStateStore
from penstock.errors import ProgramError, StateError


class SourceRuntimeContext(HostContext):
    """Tell a source function its place. There is no keyed state in front of a stream."""

    def __init__(
        self, context: EnumeratorContext, subtask: int, store: OperatorStateStore, *, restored: bool
    ) -> None:
        self._context = context
        self._store = store
        self._restored = restored
        self._subtask = subtask
        self._metrics = MetricGroup(context.now, (context.operator, str(subtask)))
        self.accumulators = {}

    def get_job_id(self) -> str:
        return self._context.job_id

    def get_task_name(self) -> str:
        return self._context.operator

    def get_number_of_parallel_subtasks(self) -> int:
        return self._context.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        known = self._context.max_parallelism
        return default_max_parallelism(self._context.parallelism) if known is None else known

    def get_index_of_this_subtask(self) -> int:
        return self._subtask

    def get_attempt_number(self) -> int:
        return self._context.attempt

    def initialization(self) -> FunctionInitializationContext:
        return SourceInitialization(self._store, self, self._restored)

    def get_job_parameter(self, key: str, default_value: str | None) -> str | None:
        return self._context.job_parameters.get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        return self._metrics

    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        if name in self.accumulators:
            raise ProgramError(
                f"accumulator {name!r} exists already",
                where=f"source {self._context.operator!r}",
                todo="choose another name, or use get_accumulator",
            )
        self.accumulators[name] = accumulator

    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        return self.accumulators.get(name)

    def restore_accumulators(self, saved: dict[str, Accumulator[Any, Any]]) -> None:
        """Go on from saved values, in the objects that the function holds."""
        for name, accumulator in saved.items():
            if name in self.accumulators:
                vars(self.accumulators[name]).update(vars(accumulator))
            else:
                self.accumulators[name] = accumulator

    def get_state(self, state_descriptor: ValueStateDescriptor) -> NoReturn:
        raise self._no_keys()

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> NoReturn:
        raise self._no_keys()

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> NoReturn:
        raise self._no_keys()

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> NoReturn:
        raise self._no_keys()

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> NoReturn:
        raise self._no_keys()

    def _no_keys(self) -> StateError:
        return StateError(
            "a source function has no keyed state",
            where=f"source {self._context.operator!r}",
            todo="keep it in an attribute of the function: attributes outlive a restart",
        )


class SourceInitialization(FunctionInitializationContext):
    """What a source function is told when it gets its state."""

    def __init__(self, store: OperatorStateStore, keyed: KeyedStateStore, restored: bool) -> None:
        self._store = store
        self._keyed = keyed
        self._restored = restored

    def is_restored(self) -> bool:
        return self._restored

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._store

    def get_keyed_state_store(self) -> KeyedStateStore:
        return self._keyed
