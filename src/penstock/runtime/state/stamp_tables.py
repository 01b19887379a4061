"""Tables of stamps: when each entry of a state that expires was last renewed.

They stand beside the table that holds the entries and know which stamps there are, so that what has
expired is found without looking at the rest. Stamps are the processing times of batches: few
different ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Any

from penstock.runtime.state.tables import TABLES, ListTable, MapTable, Table, ValueTable


class StampIndex:
    """What was renewed when."""

    def __init__(self) -> None:
        self._renewed: dict[int, set[Any]] = {}  # none of them empty
        self._times: list[int] = []  # a heap; holds times too at which nothing is left
        self._newest: int | None = None  # the time that joined the heap last

    def take(self, time: int) -> list[Any]:
        """Return what was renewed last at `time` or before. It must be removed then."""
        found: set[Any] = set()
        while self._times and self._times[0] <= time:
            found |= self._renewed.get(heappop(self._times), set())
        self._newest = None
        return list(found)

    def note(self, stamp: int, what: Any) -> None:
        """Add an entry."""
        renewed = self._renewed.get(stamp)
        if renewed is None:
            renewed = self._renewed[stamp] = set()
            # An entry that comes and goes within a batch must not push its time again and again.
            if stamp != self._newest:
                self._newest = stamp
                heappush(self._times, stamp)
        renewed.add(what)

    def forget(self, stamp: int, what: Any) -> None:
        """Remove an entry, if it is there."""
        renewed = self._renewed.get(stamp)
        if renewed is not None:
            renewed.discard(what)
            if not renewed:
                del self._renewed[stamp]


class Stamps:
    """What the tables of stamps have in common."""

    def __init__(self) -> None:
        super().__init__()
        #: Another backend has another one.
        self.index: Any = StampIndex()

    def until(self, time: int) -> list[Any]:
        """Return what was renewed last at `time` or before. It must be removed then."""
        found: list[Any] = self.index.take(time)
        return found


class ValueStamps(Stamps, ValueTable):
    """The stamp of each key's value."""

    kind = "value-stamps"

    def put(self, key: Any, value: Any) -> None:
        """Set the stamp of a key."""
        self._change(key, value)
        super().put(key, value)

    def remove(self, key: Any) -> None:
        """Forget the stamp of a key."""
        self._change(key, None)
        super().remove(key)

    def apply(self, delta: Any) -> None:
        """See `Table.apply`."""
        keys, stamps, removes = delta
        for key, stamp in zip(keys, stamps, strict=True):
            self._change(key, stamp)
        for key in removes:
            self._change(key, None)
        super().apply(delta)

    def _change(self, key: Any, stamp: int | None) -> None:
        before = self.data.get(key)
        if before is not None:
            self.index.forget(before, key)
        if stamp is not None:
            self.index.note(stamp, key)


class ListStamps(Stamps, ListTable):
    """The stamps of each key's elements, in their order."""

    kind = "list-stamps"

    def add(self, key: Any, value: Any) -> None:
        """Append the stamp of one element."""
        super().add(key, value)
        self.index.note(value, key)

    def replace(self, key: Any, values: Iterable[Any]) -> None:
        """Set all stamps of a key."""
        self._forget_all(key)
        super().replace(key, values)
        self._note_all(key)

    def drop_first(self, key: Any, count: int) -> None:
        """Remove stamps from the front."""
        self._forget_all(key)
        super().drop_first(key, count)
        self._note_all(key)

    def remove(self, key: Any) -> None:
        """Forget all stamps of a key."""
        self._forget_all(key)
        super().remove(key)

    def apply(self, delta: Any) -> None:
        """See `Table.apply`."""
        puts, removes, appends = delta
        for key in (*(key for key, _ in puts), *removes):
            self._forget_all(key)
        super().apply(delta)
        for key, stamps in (*puts, *appends):
            for stamp in set(stamps):
                self.index.note(stamp, key)

    def _note_all(self, key: Any) -> None:
        for stamp in set(self.data.get(key, ())):
            self.index.note(stamp, key)

    def _forget_all(self, key: Any) -> None:
        for stamp in set(self.data.get(key, ())):
            self.index.forget(stamp, key)


class MapStamps(Stamps, MapTable):
    """The stamp of each entry of each key's map; the index is by (key, name)."""

    kind = "map-stamps"

    def put(self, key: Any, name: Any, value: Any) -> None:
        """Set the stamp of one entry."""
        self._change(key, name, value)
        super().put(key, name, value)

    def discard(self, key: Any, name: Any) -> None:
        """Forget the stamp of one entry."""
        self._change(key, name, None)
        super().discard(key, name)

    def remove(self, key: Any) -> None:
        """Forget all stamps of a key."""
        self._forget_all(key)
        super().remove(key)

    def apply(self, delta: Any) -> None:
        """See `Table.apply`."""
        puts, removes, updates = delta
        for key in (*(key for key, _ in puts), *removes):
            self._forget_all(key)
        for key, sets, drops in updates:
            for name in drops:
                self._change(key, name, None)
            for name, stamp in sets:
                self._change(key, name, stamp)
        super().apply(delta)
        for key, stamps in puts:
            for name, stamp in stamps.items():
                self.index.note(stamp, (key, name))

    def _change(self, key: Any, name: Any, stamp: int | None) -> None:
        before = self.data.get(key, {}).get(name)
        if before is not None:
            self.index.forget(before, (key, name))
        if stamp is not None:
            self.index.note(stamp, (key, name))

    def _forget_all(self, key: Any) -> None:
        for name, stamp in self.data.get(key, {}).items():
            self.index.forget(stamp, (key, name))


class PaneValueStamps(ValueStamps):
    """The stamp of each pane's value."""

    kind = "pane-value-stamps"
    namespaced = True


class PaneListStamps(ListStamps):
    """The stamps of each pane's elements."""

    kind = "pane-list-stamps"
    namespaced = True


class PaneMapStamps(MapStamps):
    """The stamp of each entry of each pane's map."""

    kind = "pane-map-stamps"
    namespaced = True


_ALL: tuple[type[Table], ...] = (
    ValueStamps, ListStamps, MapStamps, PaneValueStamps, PaneListStamps, PaneMapStamps,
)  # fmt: skip
for table in _ALL:
    TABLES[table.kind] = table
