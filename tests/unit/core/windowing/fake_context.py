"""Contexts in memory for tests of assigners, triggers and evictors."""

from __future__ import annotations

from typing import Any

from penstock.core.metrics import MetricGroup
from penstock.core.state.descriptors import StateDescriptor
from penstock.core.windowing import Trigger


class FakeState:
    """Value and reducing state in one, for one window."""

    def __init__(self, descriptor: StateDescriptor) -> None:
        self.reduce = getattr(descriptor, "reduce_function", None)
        self.content: Any = None

    def value(self) -> Any:
        return self.content

    get = value

    def update(self, value: Any) -> None:
        self.content = value

    def add(self, value: Any) -> None:
        assert self.reduce is not None
        self.content = value if self.content is None else self.reduce(self.content, value)

    def clear(self) -> None:
        self.content = None


class FakeContext(Trigger.OnMergeContext):
    """A trigger's context for one window; `others` are those of windows that merge into it."""

    def __init__(self, watermark: int = 0, processing_time: int = 0) -> None:
        self.watermark = watermark
        self.processing_time = processing_time
        self.event_timers: set[int] = set()
        self.processing_timers: set[int] = set()
        self.states: dict[str, FakeState] = {}
        self.others: list[FakeContext] = []

    def get_current_processing_time(self) -> int:
        return self.processing_time

    def get_metric_group(self) -> MetricGroup:
        return MetricGroup(lambda: self.processing_time)

    def get_current_watermark(self) -> int:
        return self.watermark

    def register_processing_time_timer(self, time: int) -> None:
        self.processing_timers.add(time)

    def register_event_time_timer(self, time: int) -> None:
        self.event_timers.add(time)

    def delete_processing_time_timer(self, time: int) -> None:
        self.processing_timers.discard(time)

    def delete_event_time_timer(self, time: int) -> None:
        self.event_timers.discard(time)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> FakeState:
        return self.states.setdefault(state_descriptor.name, FakeState(state_descriptor))

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        for other in self.others:
            content = other.get_partitioned_state(state_descriptor).get()
            if content is not None:
                self.get_partitioned_state(state_descriptor).add(content)

    # What an assigner asks of its own context; count windows keep their count in state.

    def get_runtime_context(self) -> Any:
        return self

    def get_state(self, state_descriptor: StateDescriptor) -> FakeState:
        return self.get_partitioned_state(state_descriptor)

    def holds_nothing(self) -> bool:
        """Return whether neither timers nor state are left."""
        kept = [state for state in self.states.values() if state.get() is not None]
        return not (kept or self.event_timers or self.processing_timers)
