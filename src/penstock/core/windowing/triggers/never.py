"""Never fire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.core.windowing.triggers.base import Trigger, TriggerResult
from penstock.core.windowing.windows import Window


@dataclass(frozen=True)
class NeverTrigger(Trigger[Any, Window]):
    """Never fire: the trigger of the global window."""

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

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
        pass

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        pass
