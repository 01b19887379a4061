"""State that expires: views of the tables that leave out, and remove, what has lived long enough.

Time is the processing time of the batch, so nothing expires while a batch runs. Unless the user
turned that off, a batch begins by removing all that has expired: a replay removes the same. What is
read is looked at once more, since clean-up may be off.

A view has the methods of the table that it stands for, and so fits behind the same handles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.core.state import StateDescriptor, StateTtlConfig
from penstock.runtime.codec import handed_out
from penstock.runtime.state.stamp_tables import ListStamps, MapStamps, ValueStamps
from penstock.runtime.state.tables import ListTable, MapTable, ValueTable

#: Ends the name of the table that holds the stamps of another one.
STAMPS_SUFFIX = "\0ttl"


class Lifetime:
    """The settings of a state that expires, and the clock they are measured by."""

    def __init__(self, config: StateTtlConfig, clock: Callable[[], int]) -> None:
        self.now = clock
        self.milliseconds = config.get_ttl().to_milliseconds()
        self.renewed_by_reading = (
            config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        )
        self.returns_expired = (
            config.get_state_visibility()
            is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        )
        cleanup = config.get_cleanup_strategies()
        #: Whether expired entries are removed without being read.
        self.cleaned = (
            cleanup.in_full_snapshot()
            or cleanup.get_incremental_cleanup_strategy() is not None
            or cleanup.in_rocksdb_compact_filter()
        )

    def last_expired(self) -> int:
        """Return the latest stamp that is too old now."""
        return self.now() - self.milliseconds


class ExpiringState:
    """Base of the views."""

    def __init__(self, table: Any, stamps: Any, lifetime: Lifetime) -> None:
        self._table = table
        self._stamps = stamps
        self._lifetime = lifetime

    def expire(self) -> None:
        """Remove all that has expired, unless only reading is to remove it."""
        self._stamp_missing()
        if self._lifetime.cleaned:
            self._remove_until(self._lifetime.last_expired())

    def sorted_keys(self) -> list[Any]:
        """Return the storage keys in an order that is the same in every worker."""
        return [key for key in self._table.sorted_keys() if self.has(key)]

    def has(self, key: Any) -> bool:
        """Tell whether a key holds something that may be seen."""
        raise TypeError("abstract")

    def _stamp_missing(self) -> None:
        """Stamp what is older than the settings: time to live was turned on in a later run."""
        entries, stamps = self._table.data, self._stamps.data
        if len(stamps) != len(entries):
            for key in [key for key in entries if key not in stamps]:
                self._renew_all(key)
            for key in [key for key in stamps if key not in entries]:
                self._stamps.remove(key)

    def _renew_all(self, key: Any) -> None:
        raise TypeError("abstract")

    def _remove_until(self, time: int) -> None:
        raise TypeError("abstract")


class ExpiringValues(ExpiringState):
    """One value a key, in place of a `ValueTable`."""

    _table: ValueTable
    _stamps: ValueStamps

    def read(self, key: Any) -> Any:
        """Return the value for a user's function, or None; it must have been put detached."""
        return handed_out(self.get(key, self._table.data.get))

    def get(self, key: Any, find: Callable[[Any], Any] | None = None) -> Any:
        """Return the value itself, or None: an accumulator that belongs to the operator."""
        value = (find or self._table.get)(key)
        if value is None:
            return None
        lifetime = self._lifetime
        if self._stamps.data.get(key, lifetime.now()) <= lifetime.last_expired():
            self.remove(key)
            return value if lifetime.returns_expired else None
        if lifetime.renewed_by_reading:
            self._renew_all(key)
        return value

    def put(self, key: Any, value: Any) -> None:
        """Set the value; None removes it."""
        self._table.put(key, value)
        if value is None:
            self._stamps.remove(key)
        else:
            self._renew_all(key)

    def remove(self, key: Any) -> None:
        """Forget the value."""
        self._table.remove(key)
        self._stamps.remove(key)

    def has(self, key: Any) -> bool:
        """Tell whether a key holds something that may be seen."""
        lifetime = self._lifetime
        alive = self._stamps.data.get(key, lifetime.now()) > lifetime.last_expired()
        return key in self._table.data and (alive or lifetime.returns_expired)

    def _renew_all(self, key: Any) -> None:
        now = self._lifetime.now()
        if self._stamps.data.get(key) != now:
            self._stamps.put(key, now)

    def _remove_until(self, time: int) -> None:
        for key in self._stamps.until(time):
            self.remove(key)


class ExpiringLists(ExpiringState):
    """A list a key, in place of a `ListTable`: each element has a life of its own."""

    _table: ListTable
    _stamps: ListStamps

    def get(self, key: Any) -> list[Any]:
        """Return the elements."""
        elements = self._table.get(key)
        if not elements:
            return elements
        expired = self._remove_front(key, self._lifetime.last_expired())
        if self._lifetime.renewed_by_reading:
            self._renew_all(key)
        return elements if self._lifetime.returns_expired else elements[expired:]

    def add(self, key: Any, value: Any) -> None:
        """Append one element."""
        self._table.add(key, value)
        self._stamps.add(key, self._lifetime.now())

    def replace(self, key: Any, values: Iterable[Any]) -> None:
        """Set the whole list; an empty one removes it."""
        self._table.replace(key, values)
        self._renew_all(key)

    def remove(self, key: Any) -> None:
        """Forget the list."""
        self._table.remove(key)
        self._stamps.remove(key)

    def has(self, key: Any) -> bool:
        """Tell whether a key holds something that may be seen."""
        if self._lifetime.returns_expired:
            return key in self._table.data
        # The last element is never older than the others.
        stamps = self._stamps.data.get(key, ())
        return bool(stamps) and stamps[-1] > self._lifetime.last_expired()

    def _renew_all(self, key: Any) -> None:
        now = self._lifetime.now()
        stamps = self._stamps.data.get(key, ())
        count = len(self._table.data.get(key, ()))
        if len(stamps) != count or any(stamp != now for stamp in stamps):
            self._stamps.replace(key, [now] * count)

    def _remove_front(self, key: Any, time: int) -> int:
        stamps = self._stamps.data.get(key, ())
        expired = sum(1 for stamp in stamps if stamp <= time)
        if expired:
            self._table.drop_first(key, expired)
            self._stamps.drop_first(key, expired)
        return expired

    def _remove_until(self, time: int) -> None:
        for key in self._stamps.until(time):
            self._remove_front(key, time)


class ExpiringMaps(ExpiringState):
    """A map a key, in place of a `MapTable`: each entry has a life of its own."""

    _table: MapTable
    _stamps: MapStamps

    def get(self, key: Any, name: Any) -> Any:
        """Return the value under a name of the map, or None."""
        value = self._table.get(key, name)
        return value if self._seen(key, name) else None

    def put(self, key: Any, name: Any, value: Any) -> None:
        """Set one entry."""
        self._table.put(key, name, value)
        self._renew(key, name)

    def discard(self, key: Any, name: Any) -> None:
        """Remove one entry; the map goes with its last one."""
        self._table.discard(key, name)
        self._stamps.discard(key, name)

    def contains(self, key: Any, name: Any) -> bool:
        """Tell whether the map has an entry."""
        return self._seen(key, name)

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """Return all entries of the map."""
        return [(name, value) for name, value in self._table.items(key) if self._seen(key, name)]

    def names(self, key: Any) -> list[Any]:
        """Return the names of the map."""
        return [name for name in self._table.names(key) if self._seen(key, name)]

    def remove(self, key: Any) -> None:
        """Forget the map."""
        self._table.remove(key)
        self._stamps.remove(key)

    def has(self, key: Any) -> bool:
        """Tell whether a key holds something that may be seen."""
        lifetime, names = self._lifetime, self._table.data.get(key, ())
        if lifetime.returns_expired:
            return bool(names)
        last, now = lifetime.last_expired(), lifetime.now()
        stamps = self._stamps.data.get(key, {})
        return any(stamps.get(name, now) > last for name in names)

    def _seen(self, key: Any, name: Any) -> bool:
        """Look at an entry that is read: remove it if it has expired, else renew it if need be."""
        if not self._table.contains(key, name):
            return False
        lifetime = self._lifetime
        stamp = self._stamps.data.get(key, {}).get(name, lifetime.now())
        if stamp <= lifetime.last_expired():
            self.discard(key, name)
            return lifetime.returns_expired
        if lifetime.renewed_by_reading:
            self._renew(key, name)
        return True

    def _renew(self, key: Any, name: Any) -> None:
        now = self._lifetime.now()
        if self._stamps.data.get(key, {}).get(name) != now:
            self._stamps.put(key, name, now)

    def _renew_all(self, key: Any) -> None:
        for name in self._table.names(key):
            self._renew(key, name)

    def _remove_until(self, time: int) -> None:
        for key, name in self._stamps.until(time):
            self.discard(key, name)


_VIEWS: dict[str, tuple[str, Callable[..., Any]]] = {
    "value": ("value-stamps", ExpiringValues),
    "list": ("list-stamps", ExpiringLists),
    "map": ("map-stamps", ExpiringMaps),
}


def expires(descriptor: StateDescriptor) -> bool:
    """Tell whether the entries of a state have a time to live."""
    return descriptor.ttl_config is not None and descriptor.ttl_config.is_enabled()


def make_view(
    descriptor: StateDescriptor,
    kind: str,
    make_table: Callable[[str, str], Any],
    clock: Callable[[], int],
) -> Any:
    """Return the view of a state that expires.

    :param kind: of the table behind it: value, list or map.
    :param make_table: returns the table of a name and kind.
    """
    assert descriptor.ttl_config is not None
    stamps_kind, view = _VIEWS[kind]
    lifetime = Lifetime(descriptor.ttl_config, clock)
    table = make_table(descriptor.name, kind)
    return view(table, make_table(descriptor.name + STAMPS_SUFFIX, stamps_kind), lifetime)
