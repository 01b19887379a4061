"""What triggers do: say when a window's content is passed to its function, and when it goes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, Generic, TypeVar

from penstock.core.metrics import MetricGroup
from penstock.core.state.descriptors import StateDescriptor
from penstock.core.windowing.windows import Window
from penstock.errors import ProgramError

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class TriggerResult(Enum):
    """What happens to a window now: (its function is called, its content goes)."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Return whether the window's function is called."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Return whether the window's content goes."""
        return self.value[1]


class Trigger(ABC, Generic[T, W]):
    """Say when a window fires.

    One trigger serves all windows of all keys, so it keeps nothing in attributes: what it needs
    to remember it keeps in the state that its context hands out.
    """

    class TriggerContext(ABC):
        """Clocks, timers and state of one window of one key."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the processing time in epoch milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return the metric group of the operator."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the operator's watermark."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Have `on_processing_time` called at that time for this window."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Have `on_event_time` called once the watermark has reached that time."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Remove a timer."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Remove a timer."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """Return state that belongs to this window of this key."""

    class OnMergeContext(TriggerContext):
        """The context while windows merge."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the state of all windows that merge into that of the result."""

    @abstractmethod
    def on_element(
        self, element: T, timestamp: int, window: W, ctx: TriggerContext
    ) -> TriggerResult:
        """Decide after an element has been added to a window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        """Decide when a processing-time timer of a window fires."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        """Decide when an event-time timer of a window fires."""

    def can_merge(self) -> bool:
        """Return whether the trigger works for windows that merge. Default: no."""
        return False

    def on_merge(self, window: W, ctx: OnMergeContext) -> None:
        """Take over the state of windows that have merged into `window`."""
        raise ProgramError(
            "this trigger does not work for windows that merge",
            where=f"{type(self).__name__}.on_merge",
            todo="define can_merge and on_merge, or use another trigger with session windows",
        )

    @abstractmethod
    def clear(self, window: W, ctx: TriggerContext) -> None:
        """Remove the state and timers of a window that goes."""
