"""What assigners, triggers, evictors and window functions can ask of their operator.

One object each, told before every call which pane it is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.core.functions import (
    KeyedStateStore,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from penstock.core.metrics import MetricGroup
from penstock.core.output_tag import OutputTag, tag_id_of
from penstock.core.state import StateDescriptor
from penstock.core.windowing import Evictor, Trigger, WindowAssigner
from penstock.errors import StateError
from penstock.runtime.windowing.panes import PaneStore, namespace_of

if TYPE_CHECKING:
    from penstock.runtime.operators.window_base import WindowOperatorBase

#: Begin the names of the states of triggers and of window functions.
TRIGGER_PREFIX, PANE_PREFIX = "\0trigger ", "\0pane "


class _Clocks:
    """The clocks and the metrics of an operator."""

    def __init__(self, operator: WindowOperatorBase) -> None:
        self._operator = operator
        self._scope = operator.scope

    def get_current_processing_time(self) -> int:
        return self._scope.time

    def get_current_watermark(self) -> int:
        return self._operator.watermark

    def get_metric_group(self) -> MetricGroup:
        return self._operator.context.get_metrics_group()

    def get_runtime_context(self) -> RuntimeContext:
        return self._operator.context


class AssignerContextImpl(_Clocks, WindowAssigner.WindowAssignerContext):
    """What an assigner can ask."""


class EvictorContextImpl(_Clocks, Evictor.EvictorContext):
    """What an evictor can ask."""


class TriggerContextImpl(_Clocks, Trigger.OnMergeContext):
    """What a trigger can ask: of one window of one key."""

    def __init__(self, operator: WindowOperatorBase) -> None:
        super().__init__(operator)
        assert operator.backend is not None
        self._event_timers = operator.backend.event_timers
        self._processing_timers = operator.backend.processing_timers
        self._store = PaneStore(operator.backend, TRIGGER_PREFIX)
        self._handles: dict[StateDescriptor, Any] = {}
        self._merged: list[Any] = []

    def enter(self, key: Any, namespace: Any) -> None:
        """Speak of this window of this key from now on."""
        self._owner = self._store.context.key = (key, namespace)

    def merging(self, namespaces: list[Any]) -> None:
        """Take note of the windows that are being merged into the one spoken of."""
        self._merged = namespaces

    def register_processing_time_timer(self, time: int) -> None:
        self._processing_timers.register(time, self._owner)

    def register_event_time_timer(self, time: int) -> None:
        self._event_timers.register(time, self._owner)

    def delete_processing_time_timer(self, time: int) -> None:
        self._processing_timers.delete(time, self._owner)

    def delete_event_time_timer(self, time: int) -> None:
        self._event_timers.delete(time, self._owner)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        handle = self._handles.get(state_descriptor)
        if handle is None:
            handle = self._handles[state_descriptor] = self._store.state(state_descriptor)
        return handle

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        sources = [(self._owner[0], namespace) for namespace in self._merged]
        self._store.merge(state_descriptor, self._owner, sources)


class FunctionContextImpl(
    _Clocks, ProcessWindowFunction.Context[Any], ProcessAllWindowFunction.Context[Any]
):
    """What a window function can ask while its window is processed or cleared."""

    def __init__(self, operator: WindowOperatorBase, merging: bool) -> None:
        super().__init__(operator)
        assert operator.backend is not None
        self._backend = operator.backend
        self._panes = None if merging else PaneStore(operator.backend, PANE_PREFIX)
        self._window: Any = None

    def enter(self, key: Any, window: Any) -> None:
        """Speak of this window of this key from now on."""
        self._window = window
        if self._panes is not None:
            self._panes.context.key = (key, namespace_of(window))

    def window(self) -> Any:
        return self._window

    def current_processing_time(self) -> int:
        return self._scope.time

    def current_watermark(self) -> int:
        return self._operator.watermark

    def window_state(self) -> KeyedStateStore:
        if self._panes is None:
            raise StateError(
                "windows that merge have no state of their own",
                where=self._operator.plan.describe(),
                todo="use context.global_state(), or an aggregate whose accumulator is merged",
            )
        return self._panes

    def global_state(self) -> KeyedStateStore:
        return self._backend

    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        self._operator.output.to_side(tag_id_of(output_tag), value)
