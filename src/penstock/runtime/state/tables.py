"""Tables of keyed state: what one named state holds for all keys of a slot.

A table is a dictionary from storage key to entry and remembers what changed since the last
`take_delta`. A storage key is the user's key, or `(key, namespace)` for state that belongs to a
window. Entries are frozen (see `codec`) whenever a batch is over, so that a slot goes on from
exactly what it wrote, whether it stays in this worker or is loaded in another. What user functions
put into state is detached at once, and what they read is their own.

A delta is absolute for the keys that it names, except `appends` of a list. Applying the deltas of
a log in order therefore ends in the same state as the run that wrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.core.key_groups import stable_hash
from penstock.runtime.codec import ATOMIC, Frozen, detach, dumps, freeze, handed_out, thaw

#: What there is to be written anew of a place: its name, kind and keys, which are gone through
#: once and perhaps batch by batch, and how to dump some of them.
Inventory = tuple[str, str, Iterable[Any], Callable[[list[Any]], Any]]


class Table:
    """Base of the state tables."""

    kind = ""
    #: Whether a storage key is `(key, namespace)` rather than the user's key.
    namespaced = False
    #: The kind of the descriptor that the table was asked for by; "" for none.
    described = ""
    #: Names of the attributes that are dictionaries of which each key has its part. Another backend
    #: puts others in their places.
    dictionaries: tuple[str, ...] = ("data",)

    def __init__(self) -> None:
        self.data: dict[Any, Any] = {}

    def take_delta(self) -> Any:
        """Return what changed since the last call, picklable, or None; freeze all entries."""
        raise TypeError("abstract")

    def apply(self, delta: Any) -> None:
        """Lay a delta over the table."""
        raise TypeError("abstract")

    def dump(self, keys: Iterable[Any]) -> Any:
        """Return a delta that holds the whole entries of some keys. Entries must be frozen."""
        raise TypeError("abstract")

    def let_go(self) -> None:
        """Forget what can be worked out again; called between batches if memory is short."""

    @staticmethod
    def pack(entry: Any) -> Any:
        """Return what is pickled of an entry that is frozen."""
        return entry

    @staticmethod
    def unpack(packed: Any) -> Any:
        """Undo `pack`."""
        return packed

    def all_keys(self) -> Iterable[Any]:
        """Return the storage keys of now; changes while they are gone through do no harm."""
        data = self.data
        # A dictionary on disk copes with changes, and its keys may not fit into memory.
        return list(data) if type(data) is dict else iter(data)

    def sorted_keys(self) -> list[Any]:
        """Return the storage keys in an order that is the same in every worker.

        The order of the dictionary is not: it depends on how the table came into this worker.
        """
        return sorted(self.data, key=lambda key: (stable_hash(key), dumps(key)))


class ValueTable(Table):
    """One value a key."""

    kind = "value"

    def __init__(self) -> None:
        super().__init__()
        #: Keys written since the last delta, in this order: to go through many keys in another
        #: order is slow. Operators with a loop of their own write here and to `data` themselves.
        self.changed: dict[Any, None] = {}
        #: Thawed since the last delta: an operator may have changed the object in place.
        self._live: dict[Any, Frozen] = {}

    def read(self, key: Any) -> Any:
        """Return the value for a user's function, or None; it must have been put detached."""
        return handed_out(self.data.get(key))

    def get(self, key: Any) -> Any:
        """Return the value itself, or None: an accumulator that belongs to the operator."""
        value = self.data.get(key)
        if type(value) is Frozen:
            self._live[key] = value
            value = self.data[key] = value.thaw()
        return value

    def put(self, key: Any, value: Any) -> None:
        """Set the value; None removes it."""
        self.changed[key] = None
        if value is None:
            self.data.pop(key, None)
        else:
            self.data[key] = value

    def remove(self, key: Any) -> None:
        """Forget the value."""
        if self.data.pop(key, None) is not None:
            self.changed[key] = None

    def take_delta(self) -> Any:
        """See `Table.take_delta`."""
        data, dirty, live = self.data, self.changed, self._live
        keys, values, removes = [], [], []
        for key in dirty:
            value = data.get(key)
            if value is None:
                removes.append(key)
                continue
            kind = type(value)
            if kind not in ATOMIC and kind is not Frozen and (entry := freeze(value)) is not value:
                value = data[key] = entry
            keys.append(key)
            values.append(value)
        for key, before in live.items():
            if key not in dirty:
                entry = data[key] = freeze(data[key])
                if entry != before:
                    keys.append(key)
                    values.append(entry)
        dirty.clear()
        self._live = {}
        # Keys and values apart: twice as fast to pickle as pairs.
        return (keys, values, removes) if keys or removes else None

    def apply(self, delta: Any) -> None:
        """See `Table.apply`."""
        keys, values, removes = delta
        self.data.update(zip(keys, values, strict=True))
        for key in removes:
            self.data.pop(key, None)

    def dump(self, keys: Iterable[Any]) -> Any:
        """See `Table.dump`."""
        data = self.data
        held = [key for key in keys if key in data]
        return held, [data[key] for key in held], []


class ListTable(Table):
    """A list a key. Elements are copies: changing one that was read changes nothing."""

    kind = "list"

    def __init__(self) -> None:
        super().__init__()
        self._appended: dict[Any, int] = {}  # key -> how many elements were written before
        self._replaced: set[Any] = set()

    def add(self, key: Any, value: Any) -> None:
        """Append one element."""
        entries = self.data.get(key)
        if entries is None:
            entries = self.data[key] = []
            self._replaced.add(key)
        elif key not in self._appended:
            self._appended[key] = len(entries)
        entries.append(freeze(value))

    def get(self, key: Any) -> list[Any]:
        """Return the elements."""
        return [thaw(entry) for entry in self.data.get(key, ())]

    def replace(self, key: Any, values: Iterable[Any]) -> None:
        """Set the whole list; an empty one removes it."""
        entries = [freeze(value) for value in values]
        self._replaced.add(key)
        if entries:
            self.data[key] = entries
        else:
            self.data.pop(key, None)

    def drop_first(self, key: Any, count: int) -> None:
        """Remove elements from the front of a list; the list goes with its last one."""
        rest = self.data[key][count:]
        self._replaced.add(key)
        if rest:
            self.data[key] = rest
        else:
            del self.data[key]

    def remove(self, key: Any) -> None:
        """Forget the list."""
        if self.data.pop(key, None) is not None:
            self._replaced.add(key)

    def take_delta(self) -> Any:
        """See `Table.take_delta`."""
        if not self._replaced and not self._appended:
            return None
        data = self.data
        puts = [(key, list(data[key])) for key in self._replaced if key in data]
        removes = [key for key in self._replaced if key not in data]
        appends = [
            (key, data[key][since:])
            for key, since in self._appended.items()
            if key in data and key not in self._replaced
        ]
        self._appended = {}
        self._replaced = set()
        return puts, removes, appends

    def apply(self, delta: Any) -> None:
        """See `Table.apply`."""
        puts, removes, appends = delta
        for key, entries in puts:
            self.data[key] = list(entries)  # it will be added to: the delta's own stays as it is
        for key in removes:
            self.data.pop(key, None)
        for key, entries in appends:
            self.data.setdefault(key, []).extend(entries)

    def dump(self, keys: Iterable[Any]) -> Any:
        """See `Table.dump`."""
        data = self.data
        return [(key, list(data[key])) for key in keys if key in data], [], []


class MapTable(Table):
    """A map a key, written entry by entry."""

    kind = "map"

    def __init__(self) -> None:
        super().__init__()
        #: Names written, in the order in which they joined the map: the order of iteration.
        self._dirty: dict[Any, dict[Any, None]] = {}
        self._dropped: dict[Any, set[Any]] = {}
        self._replaced: set[Any] = set()

    def get(self, key: Any, name: Any) -> Any:
        """Return the value under a name of the map, or None."""
        entries = self.data.get(key)
        return None if entries is None else handed_out(entries.get(name))

    def put(self, key: Any, name: Any, value: Any) -> None:
        """Set one entry."""
        entries = self.data.get(key)
        if entries is None:
            entries = self.data[key] = {}
        entries[name] = value if type(value) in ATOMIC else detach(value)
        dirty = self._dirty.get(key)
        if dirty is None:
            self._dirty[key] = {name: None}
        else:
            dirty[name] = None

    def discard(self, key: Any, name: Any) -> None:
        """Remove one entry; the map goes with its last one."""
        entries = self.data.get(key)
        if entries is None or name not in entries:
            return
        del entries[name]
        self._dropped.setdefault(key, set()).add(name)
        self._dirty.get(key, {}).pop(name, None)
        if not entries:
            del self.data[key]

    def contains(self, key: Any, name: Any) -> bool:
        """Tell whether the map has an entry."""
        return name in self.data.get(key, ())

    def has(self, key: Any) -> bool:
        """Tell whether the map has any entry."""
        return key in self.data

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """Return all entries of the map."""
        return [(name, handed_out(entry)) for name, entry in self.data.get(key, {}).items()]

    def names(self, key: Any) -> list[Any]:
        """Return the names of the map."""
        return list(self.data.get(key, ()))

    def remove(self, key: Any) -> None:
        """Forget the map."""
        if self.data.pop(key, None) is not None:
            self._replaced.add(key)
            self._dirty.pop(key, None)
            self._dropped.pop(key, None)

    def take_delta(self) -> Any:
        """See `Table.take_delta`."""
        puts, removes, updates = [], [], []
        for key in self._replaced:
            if key in self.data:
                entries = self.data[key]
                self._freeze(entries, list(entries))
                puts.append((key, dict(entries)))
            else:
                removes.append(key)
        for key in self._dirty.keys() | self._dropped.keys():
            if key not in self._replaced and (change := self._changes(key)):
                updates.append(change)
        self._dirty = {}
        self._dropped = {}
        self._replaced = set()
        return (puts, removes, updates) if puts or removes or updates else None

    def _changes(self, key: Any) -> Any:
        entries, dirty = self.data.get(key, {}), self._dirty.get(key, {})
        self._freeze(entries, dirty)
        sets = [(name, entries[name]) for name in dirty]
        drops = list(self._dropped.get(key, ()))
        return (key, sets, drops) if sets or drops else None

    @staticmethod
    def _freeze(entries: dict[Any, Any], names: Iterable[Any]) -> None:
        for name in names:
            if type(entries[name]) is not Frozen:
                entries[name] = freeze(entries[name])

    def apply(self, delta: Any) -> None:
        """See `Table.apply`."""
        puts, removes, updates = delta
        self.data.update(puts)
        for key in removes:
            self.data.pop(key, None)
        for key, sets, drops in updates:
            entries = self.data.setdefault(key, {})
            for name in drops:  # first: a name that was dropped and came again stands last
                entries.pop(name, None)
            entries.update(sets)
            if not entries:
                self.data.pop(key, None)

    def dump(self, keys: Iterable[Any]) -> Any:
        """See `Table.dump`."""
        data = self.data
        return [(key, dict(data[key])) for key in keys if key in data], [], []


TABLES: dict[str, type[Table]] = {t.kind: t for t in (ValueTable, ListTable, MapTable)}
