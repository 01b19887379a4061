"""Where records are sent: by hash, by a partitioner of the user's, by ranges of a sort key.

A route gives the targets of many keys at once.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

from penstock.core.functions import Partitioner
from penstock.core.key_groups import stable_hash
from penstock.errors import ProgramError, show_value
from penstock.graph.dataset.keys import SortKey
from penstock.runtime.dataset.carrier import Partitions
from penstock.runtime.dataset.context import Place
from penstock.runtime.dataset.sorting import Sorting
from penstock.runtime.dataset.stage import PlainStage, Shipped

#: Their own hash depends on the value alone, as all workers have one PYTHONHASHSEED.
_PLAIN = {str, int, float, bytes}
#: With other numbers, which may be equal to these and then hash equal.
_HASHED_BY_VALUE = (str, int, float, bytes, complex, Decimal, Fraction)
#: Keys that are looked at to find ranges, for each partition of the result.
_SAMPLE = 200


@dataclass(frozen=True)
class HashRoute:
    """Send equal keys to one partition."""

    count: int

    def __call__(self, keys: list[Any]) -> list[int]:
        count = self.count
        if _PLAIN.issuperset(map(type, keys)):
            return [hash(key) % count for key in keys]
        return [_hash_of(key) % count for key in keys]


def _hash_of(key: Any) -> int:
    # A key's place must not hang on what other keys are looked at with it.
    return hash(key) if isinstance(key, _HASHED_BY_VALUE) else stable_hash(key)


@dataclass
class CustomRoute:
    """Ask the user's partitioner."""

    partitioner: Shipped
    count: int
    where: str
    _call: Any = field(default=None, init=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_call": None}

    def __call__(self, keys: list[Any]) -> list[int]:
        return [self._target(key) for key in keys]

    def _target(self, key: Any) -> int:
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

    def __call__(self, keys: list[Any]) -> list[int]:
        return [bisect_right(self.bounds, key) for key in keys]


class _SampleStage(PlainStage):
    """Keep some keys of a partition, chosen by chance, with its number of records."""

    def __init__(self, place: Place, sort: tuple[SortKey, ...], size: int) -> None:
        super().__init__(place)
        self._sort = Shipped(sort, place.describe())
        self._size = size

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        chance = Random(subtask)
        sorting = Sorting(self._sort.unpack())
        chosen = heapq.nsmallest(
            self._size,
            (
                (chance.random(), number, sorting.place(value))
                for number, value in enumerate(values)
            ),
        )
        for _, _, place in chosen:
            yield place


def range_route(
    data: Partitions, place: Place, sort: tuple[SortKey, ...], count: int
) -> RangeRoute:
    """Return ranges that part the records about evenly, found from a sample."""
    keys = sorted(data.through(_SampleStage(place, sort, _SAMPLE * count)).collect())
    step = len(keys) / count
    return RangeRoute([keys[int(step * number)] for number in range(1, count)] if keys else [])
