"""Sliding windows: fixed size, one begins every slide; they overlap if the slide is smaller."""

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
class _SlidingWindows(WindowAssigner[Any, TimeWindow]):
    size: int
    slide: int
    offset: int = 0

    def __post_init__(self) -> None:
        require(self.size > 0, "the size of a window must be above zero", self)
        require(self.slide > 0, "the slide of a window must be above zero", self)
        require(abs(self.offset) < self.slide, "the offset must be smaller than the slide", self)

    def _windows_of(self, timestamp: int) -> list[TimeWindow]:
        newest = timestamp - (timestamp - self.offset) % self.slide
        starts = range(newest, timestamp - self.size, -self.slide)
        return [TimeWindow(start, start + self.size) for start in starts]

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()


class SlidingEventTimeWindows(_SlidingWindows):
    """Windows of a fixed size, of which one begins every slide, in event time.

    >>> windows = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))
    >>> windows.assign_windows("a", 7000, None)
    [TimeWindow(start=5000, end=15000), TimeWindow(start=0, end=10000)]
    """

    @staticmethod
    def of(
        size: Time | Duration, slide: Time | Duration, offset: Time | Duration | None = None
    ) -> SlidingEventTimeWindows:
        """Return windows of `size` that begin every `slide`, moved by `offset`.

        :raises WindowConfigError: if size or slide is not above zero or the offset is too large.
        """
        return SlidingEventTimeWindows(
            to_milliseconds(size), to_milliseconds(slide), to_milliseconds(offset or 0)
        )

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        return self._windows_of(require_timestamp(self, element, timestamp))

    def get_default_trigger(self, env: Any = None) -> EventTimeTrigger:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


class SlidingProcessingTimeWindows(_SlidingWindows):
    """Windows of a fixed size, of which one begins every slide, in processing time."""

    @staticmethod
    def of(
        size: Time | Duration, slide: Time | Duration, offset: Time | Duration | None = None
    ) -> SlidingProcessingTimeWindows:
        """Return windows of `size` that begin every `slide`, moved by `offset`.

        :raises WindowConfigError: if size or slide is not above zero or the offset is too large.
        """
        return SlidingProcessingTimeWindows(
            to_milliseconds(size), to_milliseconds(slide), to_milliseconds(offset or 0)
        )

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        return self._windows_of(context.get_current_processing_time())

    def get_default_trigger(self, env: Any = None) -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger.create()

    def is_event_time(self) -> bool:
        return False
