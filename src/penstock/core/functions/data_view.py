"""Lists and maps inside accumulators: PyFlink's views, here plain collections in the state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class DataView:
    """Base of collections that an accumulator holds."""

    def clear(self) -> None:
        """Remove everything."""
        raise TypeError(f"{type(self).__name__} is no collection")


class ListView(DataView, Generic[T]):
    """A list inside an accumulator.

    >>> view = ListView()
    >>> view.add(1)
    >>> list(view)
    [1]
    """

    def __init__(self) -> None:
        self._items: list[T] = []

    def get(self) -> Iterable[T]:
        """Return the elements."""
        return self._items

    def add(self, value: T) -> None:
        """Append an element."""
        self._items.append(value)

    def add_all(self, values: list[T]) -> None:
        """Append elements."""
        self._items.extend(values)

    def clear(self) -> None:
        self._items.clear()

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and self._items == other._items

    def __hash__(self) -> int:
        return hash(tuple(self._items))


class MapView(DataView, Generic[K, V]):
    """A map inside an accumulator.

    >>> view = MapView()
    >>> view["a"] = 1
    >>> "a" in view, view["a"]
    (True, 1)
    """

    def __init__(self) -> None:
        self._entries: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return the value of a key, or None."""
        return self._entries.get(key)

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self._entries[key] = value

    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set the values of keys."""
        self._entries.update(dict_value)

    def remove(self, key: K) -> None:
        """Remove a key."""
        self._entries.pop(key, None)

    def contains(self, key: K) -> bool:
        """Return whether a key is there."""
        return key in self._entries

    def items(self) -> Iterable[tuple[K, V]]:
        """Return the entries."""
        return self._entries.items()

    def keys(self) -> Iterable[K]:
        """Return the keys."""
        return self._entries.keys()

    def values(self) -> Iterable[V]:
        """Return the values."""
        return self._entries.values()

    def is_empty(self) -> bool:
        """Return whether there are no entries."""
        return not self._entries

    def clear(self) -> None:
        self._entries.clear()

    def __contains__(self, key: Any) -> bool:
        return key in self._entries

    def __getitem__(self, key: K) -> V | None:
        return self._entries.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self._entries[key] = value

    def __delitem__(self, key: K) -> None:
        self._entries.pop(key, None)

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and self._entries == other._entries

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))
