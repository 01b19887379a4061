"""Time as operators see it: watermarks, time domains, timers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum

from penstock.common.watermark import MAX_WATERMARK, MIN_WATERMARK, Watermark

__all__ = ["MAX_WATERMARK", "MIN_WATERMARK", "TimeDomain", "TimerService", "Watermark"]


class TimeDomain(Enum):
    """Which clock a timer follows."""

    #: The watermark of the operator.
    EVENT_TIME = 0
    #: The time of the batch.
    PROCESSING_TIME = 1


class TimerService(ABC):
    """Read both clocks and set timers for the current key.

    All times are epoch milliseconds. A timer that is set twice for one key and time fires once.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the processing time; it stands still inside a batch."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the operator's watermark, `MIN_WATERMARK` before the first one."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Set a timer that fires once processing time has reached `timestamp`."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Set a timer that fires once the watermark has reached `timestamp`."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Remove a processing-time timer; do nothing if there is none for this time."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Remove an event-time timer; do nothing if there is none for this time."""
