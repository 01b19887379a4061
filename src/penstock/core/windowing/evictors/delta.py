"""Keep the elements that are close to the newest one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.core.windowing.delta_function import as_delta
from penstock.core.windowing.evictors.base import OneTimeEvictor, TimestampedValue


@dataclass(frozen=True)
class DeltaEvictor(OneTimeEvictor):
    """Keep elements whose distance to the one that came last is below `threshold`."""

    threshold: float
    delta_function: Any
    do_evict_after: bool = False

    @staticmethod
    def of(threshold: float, delta_function: Any, do_evict_after: bool = False) -> DeltaEvictor:
        """Return an evictor.

        :param delta_function: a `DeltaFunction`, or a callable of an element and the last one.
        :param do_evict_after: work after the window's function instead of before it.
        """
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]]) -> None:
        if elements:
            delta, last = as_delta(self.delta_function), elements[-1].value
            elements[:] = [each for each in elements if delta(each.value, last) < self.threshold]
