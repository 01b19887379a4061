"""What carries the records of a DataSet program: partitions, and how they are exchanged.

The translation of a program (`translate.py`) is written once against these two contracts. A data
set of pairs is one whose records are `(key, value)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.core.key_groups import stable_hash
from penstock.runtime.dataset.context import BroadcastValue
from penstock.runtime.dataset.stage import Stage

#: Their own hash depends on the value alone once all workers have one PYTHONHASHSEED.
_PLAIN = (str, int, float, bytes)


@dataclass(frozen=True)
class HashRoute:
    """Send equal keys to one partition. All routes of this kind and count are the same."""

    count: int

    def __call__(self, key: Any) -> int:
        value = hash(key) if type(key) in _PLAIN else stable_hash(key)
        return value % self.count


class Tools(ABC):
    """Grouping and sorting within a partition that may be larger than memory."""

    @abstractmethod
    def merge(
        self, pairs: Iterator[tuple[Any, Any]], combine: Callable[[Any, Any], Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Combine the values of each key two by two; yield `(key, value)`."""

    @abstractmethod
    def group(self, pairs: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Iterable[Any]]]:
        """Bring the values of each key together; yield `(key, values)`."""

    @abstractmethod
    def sort(self, values: Iterable[Any], key: Callable[[Any], Any]) -> Iterator[Any]:
        """Yield the values in the order of their keys; equal ones in the order they came."""

    @abstractmethod
    def is_full(self) -> bool:
        """Tell whether a table in memory should be emptied before it grows further."""


class Partitions(ABC):
    """A data set, lazily computed, in a number of partitions."""

    count: int

    @abstractmethod
    def through(self, stage: Stage) -> Partitions:
        """Return what a stage makes of each partition."""

    @abstractmethod
    def exchange(self, route: Callable[[Any], int], count: int) -> Partitions:
        """Send each pair to the partition that `route(key)` names."""

    @abstractmethod
    def union(self, others: list[Partitions]) -> Partitions:
        """Return the partitions of this data set and of others, side by side."""

    @abstractmethod
    def merged(self, other: Partitions) -> Partitions:
        """Put the partitions of two data sets together, one by one.

        Both were exchanged by the same route, and their keys have not changed since.
        """

    @abstractmethod
    def fewer(self, count: int) -> Partitions:
        """Put partitions together until there are `count`; nothing is exchanged."""

    @abstractmethod
    def cross(self, other: Partitions) -> Partitions:
        """Return all pairs of a record of this data set and one of another."""

    @abstractmethod
    def keep(self) -> Partitions:
        """Return the same, computed at most once."""

    @abstractmethod
    def settled(self) -> Partitions:
        """Compute now; return the result, which no longer remembers how it was made."""

    @abstractmethod
    def release(self) -> None:
        """Let go of what `keep` or `settled` has kept."""

    @abstractmethod
    def collect(self) -> list[Any]:
        """Compute and return all records, in the order of the partitions."""


class Carrier(ABC):
    """Makes partitions."""

    tools: Tools

    @abstractmethod
    def read(self, stage: Stage, pieces: Sequence[Sequence[Any]]) -> Partitions:
        """Return one partition for each list of pieces, read by a stage from those pieces."""

    @abstractmethod
    def broadcast(self, values: list[Any]) -> BroadcastValue:
        """Give a list to all workers."""
