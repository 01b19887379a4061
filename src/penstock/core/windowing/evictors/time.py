"""Keep the elements of the last while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.common.time import Duration, Time, to_milliseconds
from penstock.core.windowing.evictors.base import OneTimeEvictor, TimestampedValue


@dataclass(frozen=True)
class TimeEvictor(OneTimeEvictor):
    """Keep elements that are less than `window_size` ms older than the newest one."""

    window_size: int
    do_evict_after: bool = False

    @staticmethod
    def of(window_size: Time | Duration, do_evict_after: bool = False) -> TimeEvictor:
        """Return an evictor that keeps elements of so long a time.

        :param do_evict_after: work after the window's function instead of before it.
        """
        return TimeEvictor(to_milliseconds(window_size), do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]]) -> None:
        times = [element.timestamp for element in elements if element.timestamp is not None]
        # As in Flink: without timestamps (processing time) nothing is taken out.
        if elements and elements[0].has_timestamp():
            cutoff = max(times) - self.window_size
            elements[:] = [
                each for each in elements if each.timestamp is None or each.timestamp > cutoff
            ]
