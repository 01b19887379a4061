"""The durable state of a slot: a log of deltas in Spark's state store.

Every batch appends one entry that holds what changed in it, so the cost of a batch follows what
changed and not the size of the state. Old entries go away by *sweeps*: while a sweep is on, each
entry also carries the whole values of some more keys, and when all keys that were there at its
beginning have been carried, the entries from before it are not needed any more. Loading applies the
live entries in order: a key's whole value comes along at the latest with its sweep, changes after
that come behind it.

Every entry has a random token. A worker that still has the slot in memory knows the token of the
last entry it wrote or read, and compares tokens only: numbers could agree by accident after a task
that failed half-way.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from typing import Any, Protocol

from penstock.runtime.codec import PROTOCOL, dumps, loads


class SlotStore(Protocol):
    """What keeps the log: one small value and a map of entries, both versioned by Spark."""

    def read_meta(self) -> bytes | None:
        """Return the value, None at first."""

    def write_meta(self, data: bytes) -> None:
        """Set the value."""

    def read(self, key: str) -> bytes | None:
        """Return an entry of the map."""

    def write(self, key: str, data: bytes) -> None:
        """Set an entry of the map."""

    def remove(self, key: str) -> None:
        """Remove an entry of the map."""


#: A sweep starts when the log weighs more than this, and more than twice the state.
_MIN_LOG_BYTES = 1 << 18
#: ... or has more entries than this.
_MAX_ENTRIES = 512
#: A sweep carries at least this much in every entry, and ends within about this many entries.
_MIN_SWEEP_BYTES = 1 << 16
_SWEEP_ENTRIES = 64
#: Removing an entry is a call into the JVM: a few at a time.
_REMOVALS = 8
_TOKEN_BYTES = 12
_SWEEP_STEP = 256  # keys dumped between two looks at how much has been carried


@dataclass
class LogMeta:
    """What is known of a log without reading its entries."""

    token: bytes = b""
    first: int = 0  # first live entry
    next: int = 0  # number of the next entry
    removed: int = 0  # entries below this are gone from the store
    log_bytes: int = 0  # weight of the live entries
    state_bytes: int = 0  # weight of the whole state, as the last sweep found it


class LoggedState(Protocol):
    """What a log needs of the task whose state it keeps."""

    def take_delta(self) -> dict[Any, Any]:
        """Return what changed since the last call."""

    def full_plain_state(self) -> dict[Any, bytes]:
        """Return all that is not keyed."""

    def apply(self, delta: dict[Any, Any]) -> None:
        """Lay a delta over the state."""

    def settle(self) -> None:
        """Make everything ready after loading."""

    def inventory(self) -> Iterator[tuple[str, str, str, list[Any], Callable[[list[Any]], Any]]]:
        """List what is keyed: operator, place, kind, keys, and how to dump some of them."""


class SlotLog:
    """Append to and load from one slot's log. Lives as long as the task it belongs to."""

    def __init__(self) -> None:
        self._meta = LogMeta()
        self._sizes: dict[int, int] = {}
        self._sweep: _Sweep | None = None

    @property
    def weight(self) -> int:
        """Return about how many bytes of memory the state takes."""
        return max(self._meta.state_bytes, self._meta.log_bytes)

    def catch_up(self, store: SlotStore, task: LoggedState) -> bool:
        """Bring a task to the log's end. False: the task is on a branch that the log left."""
        data = store.read_meta()
        meta = LogMeta() if data is None else LogMeta(*pickle.loads(data))
        if meta.token == self._meta.token:
            return True
        begin = meta.first
        if self._meta.token:
            last = self._meta.next - 1
            entry = store.read(str(last)) if meta.first <= last < meta.next else None
            if entry is None or entry[:_TOKEN_BYTES] != self._meta.token:
                return False
            begin = last + 1
        for number in range(begin, meta.next):
            entry = store.read(str(number))
            assert entry is not None, f"entry {number} of the state log is missing"
            self._sizes[number] = len(entry)
            for delta in pickle.loads(memoryview(entry)[_TOKEN_BYTES:]):
                task.apply(loads(delta))
        task.settle()
        self._meta = meta
        return True

    def append(self, store: SlotStore, task: LoggedState) -> None:
        """Write what changed in a batch."""
        delta = task.take_delta()
        if not delta:
            return  # the state is still the one that goes by the old token
        meta = self._meta
        changes = dumps(delta)
        carried = self._carry(task, delta, len(changes))
        meta.token = os.urandom(_TOKEN_BYTES)
        # What is carried comes last: it is what the state is now, also for keys in the delta.
        entry = meta.token + pickle.dumps([changes, *carried], PROTOCOL)
        store.write(str(meta.next), entry)
        self._sizes[meta.next] = len(entry)
        meta.log_bytes += len(entry)
        meta.next += 1
        self._trim(store)
        store.write_meta(pickle.dumps(astuple(meta), PROTOCOL))

    def _due(self) -> bool:
        meta = self._meta
        entries = meta.next - meta.first
        heavy = meta.log_bytes > max(_MIN_LOG_BYTES, 2 * meta.state_bytes)
        return heavy or entries >= _MAX_ENTRIES

    def _carry(self, task: LoggedState, delta: dict[Any, Any], weight: int) -> list[bytes]:
        if self._sweep is None:
            if not self._due():
                return []
            self._sweep = _Sweep(task, self._meta.next)
        elif self._meta.first > self._sweep.start:
            self._sweep = None  # another worker's sweep has gone further meanwhile
            return []
        budget = max(weight, _MIN_SWEEP_BYTES, self._meta.state_bytes // _SWEEP_ENTRIES)
        carried = self._sweep.take(budget)
        if self._sweep.done:
            plain = task.full_plain_state()
            self._sweep.carried_bytes += sum(map(len, plain.values()))
            rest = {name: data for name, data in plain.items() if name not in delta}
            carried.append(dumps(rest))
        return carried

    def _trim(self, store: SlotStore) -> None:
        meta = self._meta
        if self._sweep is not None and self._sweep.done:
            meta.state_bytes = self._sweep.carried_bytes
            for number in range(meta.first, self._sweep.start):
                meta.log_bytes -= self._sizes.pop(number, 0)
            meta.first = self._sweep.start
            self._sweep = None
        for _ in range(min(_REMOVALS, meta.first - meta.removed)):
            store.remove(str(meta.removed))
            meta.removed += 1


class _Sweep:
    """Carry the whole state into the log, some of it with every entry."""

    def __init__(self, task: LoggedState, start: int) -> None:
        #: Entries from this number on make up the state once the sweep is done.
        self.start = start
        self.carried_bytes = 0
        self._parts = list(task.inventory())
        self._part = 0
        self._position = 0

    @property
    def done(self) -> bool:
        """Tell whether everything has been carried."""
        return self._part >= len(self._parts)

    def take(self, budget: int) -> list[bytes]:
        """Return deltas that hold the whole values of the next keys, of about `budget` bytes."""
        carried: list[bytes] = []
        until = self.carried_bytes + budget
        while not self.done and self.carried_bytes < until:
            operator, place, kind, keys, dump = self._parts[self._part]
            end = self._position + _SWEEP_STEP
            delta = {operator: {place: (kind, dump(keys[self._position : end]))}}
            carried.append(dumps(delta))
            self.carried_bytes += len(carried[-1])
            self._position = end
            if end >= len(keys):
                self._part, self._position = self._part + 1, 0
        return carried
