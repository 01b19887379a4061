"""Tumbling windows: fixed size, no overlap; a window is [start, end) in epoch milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.common.time import Duration, Time, to_milliseconds
from penstock.core.windowing.assigners.base import WindowAssigner, require, require_timestamp
from penstock.core.windowing.serializers import TimeWindowSerializer
from penstock.core.windowing.triggers.event_time import EventTimeTrigger
from penstock.core.windowing.triggers.processing_time import ProcessingTimeTrigger
from penstock.core.windowing.windows import TimeWindow


@dataclass(frozen=True)
class _TumblingWindows(WindowAssigner[Any, TimeWindow]):
    size: int
    offset: int = 0

    def __post_init__(self) -> None:
        require(self.size > 0, "the size of a window must be above zero", self)
        require(
            abs(self.offset) < self.size, "the offset must be smaller than the window's size", self
        )

    def _window_of(self, timestamp: int) -> list[TimeWindow]:
        start = timestamp - (timestamp - self.offset) % self.size
        return [TimeWindow(start, start + self.size)]

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()


class TumblingEventTimeWindows(_TumblingWindows):
    """Windows of a fixed size in event time.

    >>> TumblingEventTimeWindows.of(Time.seconds(5)).assign_windows("a", 7000, None)
    [TimeWindow(start=5000, end=10000)]
    """

    @staticmethod
    def of(
        size: Time | Duration, offset: Time | Duration | None = None
    ) -> TumblingEventTimeWindows:
        """Return windows of `size`; the first begins at 1970-01-01T00:00:00Z plus `offset`.

        :raises WindowConfigError: if the size is not above zero or the offset not below it.
        """
        return TumblingEventTimeWindows(to_milliseconds(size), to_milliseconds(offset or 0))

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        return self._window_of(require_timestamp(self, element, timestamp))

    def get_default_trigger(self, env: Any = None) -> EventTimeTrigger:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


class TumblingProcessingTimeWindows(_TumblingWindows):
    """Windows of a fixed size in processing time."""

    @staticmethod
    def of(
        size: Time | Duration, offset: Time | Duration | None = None
    ) -> TumblingProcessingTimeWindows:
        """Return windows of `size`; the first begins at 1970-01-01T00:00:00Z plus `offset`.

        :raises WindowConfigError: if the size is not above zero or the offset not below it.
        """
        return TumblingProcessingTimeWindows(to_milliseconds(size), to_milliseconds(offset or 0))

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        return self._window_of(context.get_current_processing_time())

    def get_default_trigger(self, env: Any = None) -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger.create()

    def is_event_time(self) -> bool:
        return False
