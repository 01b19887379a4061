"""State as user functions see it. The runtime hands out objects that fulfil these contracts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class State(ABC):
    """Base of all kinds of state. Keyed state always means the state of the current key."""

    @abstractmethod
    def clear(self) -> None:
        """Remove the value."""


class ValueState(State, Generic[T]):
    """One value."""

    @abstractmethod
    def value(self) -> T | None:
        """Return the value, or None if there is none."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Set the value. None removes it."""


class AppendingState(State, Generic[IN, OUT]):
    """Something that takes values and gives back what they have become."""

    @abstractmethod
    def get(self) -> OUT | None:
        """Return what the values have become, or None if there are none."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Take one value."""


class MergingState(AppendingState[IN, OUT]):
    """State of which two can be made one, as when session windows merge."""


class ListState(MergingState[T, Iterable[T]]):
    """A list of values."""

    @abstractmethod
    def get(self) -> Iterable[T]:
        """Return the values in the order in which they were added; empty if there are none."""

    @abstractmethod
    def add(self, value: T) -> None:
        """Append one value."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replace the whole list. An empty list removes it."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Append several values."""


class ReducingState(MergingState[T, T]):
    """One value: everything that was added, combined by a `ReduceFunction`."""


class AggregatingState(MergingState[IN, OUT]):
    """An accumulator: everything that was added, combined by an `AggregateFunction`."""


class _ReadableMap(State, Generic[K, V]):
    """What all map-like states have in common: reading them."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """Return the value of a key, or None."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Return whether the key has a value."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Return all keys with their values."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Return all keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Return all values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Return whether there are no entries."""

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class _WritableMap(_ReadableMap[K, V]):
    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set the values of several keys."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove an entry; do nothing if there is none."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class MapState(_WritableMap[K, V]):
    """A map whose entries are read and written one by one."""


class ReadOnlyBroadcastState(_ReadableMap[K, V]):
    """Broadcast state as the side with the data sees it: it may be read only.

    Every subtask must come to the same content, so only the broadcast side may change it.
    """


class BroadcastState(_WritableMap[K, V], ReadOnlyBroadcastState[K, V]):
    """A map of which every subtask holds the same copy."""
