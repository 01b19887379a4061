"""Where records are sent: in turn, by a partitioner of the user's, by ranges of a sort key."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from penstock.core.functions import Partitioner
from penstock.errors import ProgramError, show_value
from penstock.runtime.dataset.carrier import Partitions
from penstock.runtime.dataset.context import Place
from penstock.runtime.dataset.stage import PlainStage, Shipped

#: Keys that are looked at to find ranges, for each partition of the result.
_SAMPLE = 200


@dataclass(frozen=True)
class SpreadRoute:
    """Deal numbers out in turn."""

    count: int

    def __call__(self, number: int) -> int:
        return number % self.count


@dataclass
class CustomRoute:
    """Ask the user's partitioner."""

    partitioner: Shipped
    count: int
    where: str
    _call: Any = field(default=None, init=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_call": None}

    def __call__(self, key: Any) -> int:
        if self._call is None:
            partitioner = self.partitioner.unpack()
            is_object = isinstance(partitioner, Partitioner)
            self._call = partitioner.partition if is_object else partitioner
        target = self._call(key, self.count)
        if not isinstance(target, int) or not 0 <= target < self.count:
            raise ProgramError(
                "the partitioner names no partition",
                where=self.where,
                got=f"{show_value(target)} for key {show_value(key)}",
                todo=f"return a number from 0 to {self.count - 1}",
            )
        return target


@dataclass(frozen=True)
class RangeRoute:
    """Find the range of a sort key. `bounds` are the last keys of all ranges but one."""

    bounds: list[Any]

    def __call__(self, key: Any) -> int:
        return bisect_right(self.bounds, key)


class _SampleStage(PlainStage):
    """Keep some keys of a partition, chosen by chance, with its number of records."""

    def __init__(self, place: Place, size: int) -> None:
        super().__init__(place)
        self._size = size

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        chance = Random(subtask)
        chosen = heapq.nsmallest(
            self._size, ((chance.random(), number, key) for number, (key, _) in enumerate(values))
        )
        for _, _, key in chosen:
            yield key


def range_route(pairs: Partitions, place: Place, count: int) -> RangeRoute:
    """Return ranges that part the keys of some pairs about evenly, found from a sample."""
    keys = sorted(pairs.through(_SampleStage(place, _SAMPLE * count)).collect())
    step = len(keys) / count
    return RangeRoute([keys[int(step * number)] for number in range(1, count)] if keys else [])
