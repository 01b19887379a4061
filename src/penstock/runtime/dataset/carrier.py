"""What carries the records of a DataSet program: partitions, and how they are exchanged.

The translation of a program (`translate.py`) is written once against these contracts. Records are
exchanged in chunks, many at once, and carry no keys: who receives them computes the key again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from penstock.graph.dataset.keys import Key
from penstock.runtime.dataset.context import BroadcastValue
from penstock.runtime.dataset.sorting import Sorting
from penstock.runtime.dataset.stage import Stage

#: Tags of chunks whose sender has grouped the records: `(keys, lists of records)`, or
#: `(keys, lists of columns)` of plain tuples without the field that is their key.
GROUPED, COLUMNS = 2, 3


class Tools(ABC):
    """Grouping, sorting and packing within a partition that may be larger than memory."""

    @abstractmethod
    def pack(self, tag: int, content: Any) -> Any:
        """Return what one sender has, as it travels: a *chunk*. Most are lists of records."""

    @abstractmethod
    def unpack(self, chunk: Any) -> tuple[int, Any]:
        """Undo `pack`."""

    @abstractmethod
    def size(self, chunk: Any) -> int:
        """Return the bytes of a chunk, 0 if it has none."""

    @abstractmethod
    def merge(
        self, pairs: Iterator[tuple[Any, Any]], combine: Callable[[Any, Any], Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Combine the values of each key two by two; yield `(key, value)`."""

    @abstractmethod
    def group(self, chunks: Iterator[Any], key: Key) -> Iterator[tuple[Any, Iterable[Any]]]:
        """Bring the records of chunks together by key; their sender may have grouped them.

        :returns: `(key, records)`.
        """

    @abstractmethod
    def co_group(
        self, chunks: Iterator[Any], keys: tuple[Key, Key]
    ) -> Iterator[tuple[Any, list[Any], list[Any]]]:
        """Bring the records of chunks with tags 0 and 1 together by key.

        :param keys: the key of a record, by tag.
        :returns: `(key, records of tag 0, records of tag 1)`.
        """

    @abstractmethod
    def sort(self, values: Iterable[Any], sorting: Sorting) -> Iterator[Any]:
        """Yield the values in an order; equal ones as they came."""

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
    def exchange(self, sender: Stage, count: int) -> Partitions:
        """Send chunks to other partitions.

        :param sender: makes `(target, chunk)` of the records of a partition.
        :returns: `count` partitions of chunks.
        """

    @abstractmethod
    def union(self, others: list[Partitions]) -> Partitions:
        """Return the partitions of this data set and of others, side by side."""

    @abstractmethod
    def merged(self, other: Partitions) -> Partitions:
        """Put the partitions of two data sets together, one by one.

        Both come from an exchange, through stages that let records stay.
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
