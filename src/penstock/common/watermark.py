"""Watermarks: the statement that no record with an older timestamp is expected any more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

#: Before everything: the watermark of a stream that has not said anything yet.
MIN_WATERMARK = -(1 << 63)
#: After everything: the watermark of a stream that has ended.
MAX_WATERMARK = (1 << 63) - 1


@dataclass(frozen=True, order=True)
class Watermark:
    """Declare that event time has reached `timestamp` (epoch milliseconds).

    >>> Watermark(5).get_timestamp()
    5
    """

    timestamp: int

    def get_timestamp(self) -> int:
        """Return the event time in epoch milliseconds."""
        return self.timestamp

    def __str__(self) -> str:
        return f"Watermark @ {self.timestamp}"


class WatermarkOutput(ABC):
    """Take the watermarks of a generator. Given to the generator by the runtime."""

    @abstractmethod
    def emit_watermark(self, watermark: Watermark) -> None:
        """Send a watermark on; one that is not above the last one is ignored."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Declare the stream idle: it no longer holds back those that wait for its watermarks."""

    @abstractmethod
    def mark_active(self) -> None:
        """Declare the stream active again. A watermark does that too."""
