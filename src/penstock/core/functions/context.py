"""What the contexts of process functions have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.core.output_tag import OutputTag
from penstock.core.time import TimeDomain, TimerService


class SideOutputContext(ABC):
    """A context that can send records to side outputs."""

    @abstractmethod
    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        """Send a record to a side output, with the timestamp of the record in hand."""


class ElementContext(SideOutputContext):
    """A context that belongs to one record."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """Return the record's timestamp in epoch milliseconds, or None if it has none."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Return the clocks and timers. Timers can be set on keyed streams only."""


class KeyedElementContext(ElementContext):
    """A context that belongs to one record of a keyed stream."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """Return the key of the record."""


class TimerContext(KeyedElementContext):
    """A context that belongs to a timer that has fired; its timestamp is the timer's."""

    @abstractmethod
    def time_domain(self) -> TimeDomain:
        """Return the clock that the timer follows."""
