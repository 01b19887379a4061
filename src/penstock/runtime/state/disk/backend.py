"""Keyed state and timers of one operator in one slot, for state that is larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.runtime.state.disk.dictionary import DiskDict, TimedDiskDict
from penstock.runtime.state.disk.key_bytes import STAMPED_TAG, stamped_bytes
from penstock.runtime.state.disk.store import DiskStore
from penstock.runtime.state.disk.timers import DiskTimerQueue
from penstock.runtime.state.keyed_backend import KeyedBackend
from penstock.runtime.state.stamp_tables import Stamps
from penstock.runtime.state.tables import Table


class DiskStampIndex:
    """What was renewed when, in place of a `StampIndex`."""

    def __init__(self, store: DiskStore) -> None:
        self._renewed = TimedDiskDict(store, stamped_bytes, STAMPED_TAG)

    def take(self, time: int) -> list[Any]:
        """Return what was renewed last at `time` or before. It must be removed then."""
        return list(dict.fromkeys(what for (_, what), _ in self._renewed.take(time)))

    def note(self, stamp: int, what: Any) -> None:
        """Add an entry."""
        self._renewed[stamp, what] = True

    def forget(self, stamp: int, what: Any) -> None:
        """Remove an entry, if it is there."""
        self._renewed.pop((stamp, what), None)


class DiskBackend(KeyedBackend):
    """Hold tables and timers in a store of the worker; memory has what is in use."""

    def __init__(
        self, operator: str, clock: Callable[[], int], settings: Mapping[str, Any]
    ) -> None:
        self._store = DiskStore(settings)
        super().__init__(operator, clock)

    def make_table(self, name: str, kind: str) -> Table:
        """Return a new table whose dictionaries are in the store."""
        table = super().make_table(name, kind)
        on_disk(table, self._store)
        return table

    def make_timers(self, *, patient: bool = False) -> DiskTimerQueue:
        """Return a new queue of timers in the store."""
        return DiskTimerQueue(self._store, patient=patient)

    def flush(self) -> None:
        """Write what the batch has changed to the store."""
        for table in self.tables.values():
            table.let_go()
        for _, timers in self._queues():
            assert isinstance(timers, DiskTimerQueue)
            timers.store_new()
        self._store.flush()

    def close(self) -> None:
        """Remove the store."""
        self._store.close()


def on_disk(table: Table, store: DiskStore) -> None:
    """Let a new table hold its entries in a store."""
    for name in table.dictionaries:
        if name == "data":
            setattr(table, name, DiskDict(store, pack=table.pack, unpack=table.unpack))
        else:
            setattr(table, name, DiskDict(store))
    if isinstance(table, Stamps):
        table.index = DiskStampIndex(store)
