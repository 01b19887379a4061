"""Session windows: they end after a gap without elements, and merge when elements join them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from penstock.common.time import Duration, Time, to_milliseconds
from penstock.core.windowing.assigners.base import (
    MergingWindowAssigner,
    WindowAssigner,
    require,
    require_timestamp,
)
from penstock.core.windowing.serializers import TimeWindowSerializer
from penstock.core.windowing.triggers.event_time import EventTimeTrigger
from penstock.core.windowing.triggers.processing_time import ProcessingTimeTrigger
from penstock.core.windowing.windows import TimeWindow
from penstock.errors import WindowConfigError, show_value

T = TypeVar("T")
Fixed = TypeVar("Fixed", bound="_FixedGap")
Dynamic = TypeVar("Dynamic", bound="_DynamicGap")


class SessionWindowTimeGapExtractor(ABC, Generic[T]):
    """Say how long a gap an element leaves open."""

    @abstractmethod
    def extract(self, element: T) -> int:
        """Return the gap in milliseconds; above zero."""


class _SessionWindows(MergingWindowAssigner[Any, TimeWindow]):
    """What all session windows have in common: a start, a gap, and how they merge."""

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        start = self._start_of(element, timestamp, context)
        return [TimeWindow(start, start + self._gap_of(element))]

    @abstractmethod
    def _start_of(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> int: ...

    @abstractmethod
    def _gap_of(self, element: Any) -> int: ...

    def merge_windows(
        self,
        windows: Iterable[TimeWindow],
        callback: MergingWindowAssigner.MergeCallback[TimeWindow],
    ) -> None:
        TimeWindow.merge_windows(windows, callback.merge)

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()


class _EventTime(_SessionWindows):
    def _start_of(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> int:
        return require_timestamp(self, element, timestamp)

    def get_default_trigger(self, env: Any = None) -> EventTimeTrigger:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


class _ProcessingTime(_SessionWindows):
    def _start_of(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> int:
        return context.get_current_processing_time()

    def get_default_trigger(self, env: Any = None) -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger.create()

    def is_event_time(self) -> bool:
        return False


@dataclass(frozen=True)
class _FixedGap(_SessionWindows):
    session_gap: int

    def __post_init__(self) -> None:
        require(self.session_gap > 0, "the gap of a session must be above zero", self)

    def _gap_of(self, element: Any) -> int:
        return self.session_gap

    @classmethod
    def with_gap(cls: type[Fixed], size: Time | Duration) -> Fixed:
        """Return sessions that end after `size` without elements.

        :raises WindowConfigError: if the gap is not above zero.
        """
        return cls(to_milliseconds(size))


@dataclass(frozen=True)
class _DynamicGap(_SessionWindows):
    session_window_time_gap_extractor: Any

    def _gap_of(self, element: Any) -> int:
        extractor = self.session_window_time_gap_extractor
        gap: int = getattr(extractor, "extract", extractor)(element)
        if gap <= 0:
            raise WindowConfigError(
                "the gap of a session must be above zero",
                where=f"{type(self).__name__}, element {show_value(element)}",
                got=show_value(gap),
                todo="return a positive number of milliseconds from the gap extractor",
            )
        return gap

    @classmethod
    def with_dynamic_gap(cls: type[Dynamic], extractor: Any) -> Dynamic:
        """Return sessions whose gap the extractor, or callable, says for each element."""
        return cls(extractor)


@dataclass(frozen=True)
class DynamicEventTimeSessionWindows(_DynamicGap, _EventTime):
    """Sessions in event time whose gap depends on their elements."""


@dataclass(frozen=True)
class DynamicProcessingTimeSessionWindows(_DynamicGap, _ProcessingTime):
    """Sessions in processing time whose gap depends on their elements."""


@dataclass(frozen=True)
class EventTimeSessionWindows(_FixedGap, _EventTime):
    """Sessions in event time with a fixed gap.

    >>> EventTimeSessionWindows.with_gap(Time.seconds(5)).assign_windows("a", 7000, None)
    [TimeWindow(start=7000, end=12000)]
    """

    @staticmethod
    def with_dynamic_gap(extractor: Any) -> DynamicEventTimeSessionWindows:
        """Return sessions whose gap depends on their elements.

        :param extractor: a `SessionWindowTimeGapExtractor` or a callable of an element.
        """
        return DynamicEventTimeSessionWindows(extractor)


@dataclass(frozen=True)
class ProcessingTimeSessionWindows(_FixedGap, _ProcessingTime):
    """Sessions in processing time with a fixed gap."""

    @staticmethod
    def with_dynamic_gap(extractor: Any) -> DynamicProcessingTimeSessionWindows:
        """Return sessions whose gap depends on their elements.

        :param extractor: a `SessionWindowTimeGapExtractor` or a callable of an element.
        """
        return DynamicProcessingTimeSessionWindows(extractor)
