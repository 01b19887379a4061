"""Keep the newest elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.core.windowing.evictors.base import OneTimeEvictor, TimestampedValue


@dataclass(frozen=True)
class CountEvictor(OneTimeEvictor):
    """Keep the newest `max_count` elements."""

    max_count: int
    do_evict_after: bool = False

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """Return an evictor that keeps so many elements.

        :param do_evict_after: work after the window's function instead of before it.
        """
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]]) -> None:
        del elements[: max(len(elements) - self.max_count, 0)]
