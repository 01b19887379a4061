"""Count windows: a number of elements of a key, whatever their time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.core.state.descriptors import ValueStateDescriptor
from penstock.core.windowing.assigners.base import WindowAssigner, require
from penstock.core.windowing.serializers import CountWindowSerializer
from penstock.core.windowing.triggers.count import CountTrigger
from penstock.core.windowing.triggers.purging import PurgingTrigger
from penstock.core.windowing.windows import CountWindow


@dataclass(frozen=True)
class CountTumblingWindowAssigner(WindowAssigner[Any, CountWindow]):
    """Windows of `window_size` elements without overlap.

    A window that has fired is full and has no end in time: the default trigger purges it.
    """

    window_size: int

    def __post_init__(self) -> None:
        require(self.window_size > 0, "the size of a window must be above zero", self)

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Return windows of so many elements."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[CountWindow]:
        position = _next_position(context, "tumble-count-assigner")
        return [CountWindow(position // self.window_size)]

    def get_default_trigger(self, env: Any = None) -> PurgingTrigger:
        return PurgingTrigger.of(CountTrigger.of(self.window_size))

    def get_window_serializer(self) -> CountWindowSerializer:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False


@dataclass(frozen=True)
class CountSlidingWindowAssigner(WindowAssigner[Any, CountWindow]):
    """Windows of `window_size` elements, of which one begins every `window_slide` elements.

    As in PyFlink a window fires when it is full. `KeyedStream.count_window(size, slide)` follows
    Flink's Java API instead and fires every `slide` elements from the start.
    """

    window_size: int
    window_slide: int

    def __post_init__(self) -> None:
        require(self.window_size > 0, "the size of a window must be above zero", self)
        require(self.window_slide > 0, "the slide of a window must be above zero", self)

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Return windows of so many elements, beginning every so many."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[CountWindow]:
        position = _next_position(context, "slide-count-assigner")
        newest = position // self.window_slide
        oldest = max((position - self.window_size) // self.window_slide + 1, 0)
        return [CountWindow(number) for number in range(newest, oldest - 1, -1)]

    def get_default_trigger(self, env: Any = None) -> PurgingTrigger:
        return PurgingTrigger.of(CountTrigger.of(self.window_size))

    def get_window_serializer(self) -> CountWindowSerializer:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False


def _next_position(context: WindowAssigner.WindowAssignerContext, name: str) -> int:
    """Return how many elements of this key came before, and count this one."""
    count = context.get_runtime_context().get_state(ValueStateDescriptor(name))
    position: int = count.value() or 0
    count.update(position + 1)
    return position
