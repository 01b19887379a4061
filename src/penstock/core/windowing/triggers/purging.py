"""Let a window's content go whenever another trigger fires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.core.windowing.triggers.base import Trigger, TriggerResult
from penstock.core.windowing.windows import Window


@dataclass(frozen=True)
class PurgingTrigger(Trigger[Any, Window]):
    """Do what another trigger does, and let the content go whenever it fires."""

    nested_trigger: Trigger[Any, Any]

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger:
        """Return a purging trigger around another one."""
        return PurgingTrigger(nested_trigger)

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result
