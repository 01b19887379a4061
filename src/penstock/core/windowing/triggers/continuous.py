"""Fire again and again while the window is open, at multiples of an interval."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from penstock.common.time import Duration, Time, to_milliseconds
from penstock.core.state.descriptors import ReducingStateDescriptor
from penstock.core.state.interfaces import ReducingState
from penstock.core.windowing.triggers.base import Trigger, TriggerResult
from penstock.core.windowing.windows import Window
from penstock.errors import WindowConfigError, show_value

_NEXT_FIRE = ReducingStateDescriptor("trigger-fire-time", min)


@dataclass(frozen=True)
class _ContinuousTrigger(Trigger[Any, Window]):
    """What both have in common; the time of the next firing is kept in the window's state."""

    interval: int

    def __post_init__(self) -> None:
        if self.interval <= 0:
            raise WindowConfigError(
                "the interval of a continuous trigger must be above zero",
                where=type(self).__name__,
                got=show_value(self.interval),
            )

    @abstractmethod
    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None: ...

    @abstractmethod
    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None: ...

    def register_next_fire_timestamp(
        self,
        time: int,
        window: Window,
        ctx: Trigger.TriggerContext,
        fire_timestamp_state: ReducingState[int],
    ) -> None:
        """Set the timer that follows `time`; never behind the window's end."""
        next_fire = min(time + self.interval, window.max_timestamp())
        # At the window's end there is no next time: a timer set for now would fire for ever.
        if next_fire > time:
            fire_timestamp_state.add(next_fire)
            self._register(next_fire, ctx)

    def _start(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> None:
        state = ctx.get_partitioned_state(_NEXT_FIRE)
        if state.get() is None:
            self.register_next_fire_timestamp(time - time % self.interval, window, ctx, state)

    def _go_on(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = ctx.get_partitioned_state(_NEXT_FIRE)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(_NEXT_FIRE)
        next_fire = ctx.get_partitioned_state(_NEXT_FIRE).get()
        if next_fire is not None:
            self._register(next_fire, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        state = ctx.get_partitioned_state(_NEXT_FIRE)
        next_fire = state.get()
        if next_fire is not None:
            self._delete(next_fire, ctx)
            state.clear()


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fire whenever the watermark passes a multiple of the interval, and at the window's end."""

    @staticmethod
    def of(interval: Time | Duration) -> ContinuousEventTimeTrigger:
        """Return a trigger with this interval.

        :raises WindowConfigError: if it is not above zero.
        """
        return ContinuousEventTimeTrigger(to_milliseconds(interval))

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        self._start(timestamp, window, ctx)
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        return self._go_on(time, window, ctx)

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        super().on_merge(window, ctx)
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        super().clear(window, ctx)
        ctx.delete_event_time_timer(window.max_timestamp())

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fire whenever processing time passes a multiple of the interval."""

    @staticmethod
    def of(interval: Time | Duration) -> ContinuousProcessingTimeTrigger:
        """Return a trigger with this interval.

        :raises WindowConfigError: if it is not above zero.
        """
        return ContinuousProcessingTimeTrigger(to_milliseconds(interval))

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        self._start(ctx.get_current_processing_time(), window, ctx)
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return self._go_on(time, window, ctx)

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)
