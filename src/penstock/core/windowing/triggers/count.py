"""Fire after a number of elements."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from penstock.core.state.descriptors import ReducingStateDescriptor
from penstock.core.windowing.triggers.base import Trigger, TriggerResult
from penstock.core.windowing.windows import Window
from penstock.errors import WindowConfigError, show_value

_COUNT = ReducingStateDescriptor("trigger-count", operator.add)


@dataclass(frozen=True)
class CountTrigger(Trigger[Any, Window]):
    """Fire whenever a window has got `window_size` more elements. Its content stays."""

    window_size: int

    def __post_init__(self) -> None:
        if self.window_size < 1:
            raise WindowConfigError(
                "a count trigger must count to at least 1",
                where="CountTrigger",
                got=show_value(self.window_size),
            )

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Return a trigger that fires after so many elements.

        :raises WindowConfigError: if the number is below 1.
        """
        return CountTrigger(window_size)

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        count = ctx.get_partitioned_state(_COUNT)
        count.add(1)
        if count.get() < self.window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(_COUNT)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(_COUNT).clear()
