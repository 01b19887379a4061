"""What evictors do: take elements out of a window before or after its function is called."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from penstock.core.metrics import MetricGroup
from penstock.core.windowing.windows import Window

T = TypeVar("T")
W = TypeVar("W", bound=Window)


@dataclass(frozen=True)
class TimestampedValue(Generic[T]):
    """An element of a window with its timestamp; None if it has none."""

    value: T
    timestamp: int | None = None

    def get_value(self) -> T:
        """Return the element."""
        return self.value

    def get_timestamp(self) -> int | None:
        """Return its timestamp in epoch milliseconds."""
        return self.timestamp

    def has_timestamp(self) -> bool:
        """Return whether it has a timestamp."""
        return self.timestamp is not None


class Evictor(ABC, Generic[T, W]):
    """Take elements out of a window. A window with an evictor keeps all its elements."""

    class EvictorContext(ABC):
        """Clocks of the operator."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the processing time in epoch milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return the metric group of the operator."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the operator's watermark."""

    @abstractmethod
    def evict_before(
        self,
        elements: list[TimestampedValue[T]],
        size: int,
        window: W,
        evictor_context: EvictorContext,
    ) -> None:
        """Take elements out of the list before the window's function is called with it.

        :param elements: in the order of their arrival; change the list in place.
        :param size: number of elements.
        """

    @abstractmethod
    def evict_after(
        self,
        elements: list[TimestampedValue[T]],
        size: int,
        window: W,
        evictor_context: EvictorContext,
    ) -> None:
        """Take elements out of the list after the window's function was called with it."""


class OneTimeEvictor(Evictor[Any, Window]):
    """Base of the built-in evictors, which work either before or after the function."""

    do_evict_after: bool = False

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue[Any]]) -> None: ...

    def evict_before(
        self,
        elements: list[TimestampedValue[Any]],
        size: int,
        window: Window,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        if not self.do_evict_after:
            self._evict(elements)

    def evict_after(
        self,
        elements: list[TimestampedValue[Any]],
        size: int,
        window: Window,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        if self.do_evict_after:
            self._evict(elements)
