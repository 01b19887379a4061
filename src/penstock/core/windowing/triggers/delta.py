"""Fire when an element is far enough from the one that fired last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.core.state.descriptors import ValueStateDescriptor
from penstock.core.windowing.delta_function import as_delta
from penstock.core.windowing.triggers.base import Trigger, TriggerResult
from penstock.core.windowing.windows import Window

_LAST = ValueStateDescriptor("trigger-last-element")


@dataclass(frozen=True)
class DeltaTrigger(Trigger[Any, Window]):
    """Fire when an element is further than `threshold` from the one that fired last."""

    threshold: float
    delta_function: Any

    @staticmethod
    def of(threshold: float, delta_function: Any) -> DeltaTrigger:
        """Return a trigger.

        :param delta_function: a `DeltaFunction`, or a callable of the old element and the new.
        """
        return DeltaTrigger(threshold, delta_function)

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        last = ctx.get_partitioned_state(_LAST)
        # Kept in a tuple: an element that is None must not look like no element.
        kept = last.value()
        if kept is None:
            last.update((element,))
            return TriggerResult.CONTINUE
        if as_delta(self.delta_function)(kept[0], element) <= self.threshold:
            return TriggerResult.CONTINUE
        last.update((element,))
        return TriggerResult.FIRE

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(_LAST).clear()
