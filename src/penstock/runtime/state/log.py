"""The durable state of a slot: a log of deltas in Spark's state store.

Every batch appends one entry that holds what changed in it, so the cost of a batch follows what
changed and not the size of the state. The last few entries, the *tail*, are kept beside what is
known of the log, in one value: a small batch reads and writes that value and nothing else. A tail
that has grown is stored as a *block*.

Old blocks go away by *sweeps*: while a sweep is on, each entry also carries the whole values of
some more keys, and when all keys that were there at its beginning have been carried, the blocks
from before it are not needed any more. Loading applies the live entries in order: a key's whole
value comes along at the latest with its sweep, changes after that come behind it.

So that a large state has no more blocks than a small one, neighbouring small blocks become one
larger block: their entries in a row.

Every entry has a random token. A worker that still has the slot in memory knows the token of the
last entry it wrote or read, and compares tokens only: numbers could agree by accident after a task
that failed half-way.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from itertools import islice, pairwise, takewhile
from typing import Any, Protocol

from penstock.runtime.codec import PROTOCOL, dumps, loads

#: What is written anew by key: operator, and place, kind, keys and how to dump some of them.
TaskInventory = tuple[str, str, str, Iterable[Any], Callable[[list[Any]], Any]]


class SlotStore(Protocol):
    """What keeps the log: one value and numbered blocks, both versioned by Spark."""

    def read_meta(self) -> bytes | None:
        """Return the value, None at first."""

    def write_meta(self, data: bytes) -> None:
        """Set the value."""

    def read(self, number: int) -> bytes | None:
        """Return a block."""

    def write(self, number: int, data: bytes) -> None:
        """Set a block."""

    def remove(self, number: int) -> None:
        """Remove a block."""


#: A sweep starts when the log weighs more than this, and more than twice the state.
_MIN_LOG_BYTES = 1 << 18
#: So many neighbouring blocks of about one size become one, up to the size of a full block.
_MERGED = 8
#: A tail that weighs more than this becomes a block.
_TAIL_BYTES = 1 << 14
#: A sweep carries at least this much in every entry, and ends within about this many entries.
_MIN_SWEEP_BYTES = 1 << 16
_SWEEP_ENTRIES = 512
#: Removing a block is a call into the JVM: a few at a time.
_REMOVALS = 8
_TOKEN_BYTES = 12
#: A full block: about what a state is written in that came from elsewhere.
_FULL_BLOCK = 1 << 24
#: ... or this part of the whole log, if that is more.
_MOST_BLOCKS = 256
_SWEEP_STEP = 256  # keys dumped between two looks at how much has been carried


@dataclass
class LogMeta:
    """The log without its blocks."""

    token: bytes = b""  # of the last entry
    next: int = 0  # number of the next entry
    blocks: list[tuple[int, int]] = field(default_factory=list)  # first entry and bytes of each
    block_token: bytes = b""  # of the last entry that is in a block
    tail: list[bytes] = field(default_factory=list)  # entries that are in no block yet
    dead: list[int] = field(default_factory=list)  # blocks to be removed
    state_bytes: int = 0  # weight of the whole state, as the last sweep found it

    @property
    def tail_start(self) -> int:
        """Return the number of the tail's first entry."""
        return self.next - len(self.tail)

    @property
    def first(self) -> int:
        """Return the number of the first live entry."""
        return self.blocks[0][0] if self.blocks else self.tail_start

    @property
    def tail_bytes(self) -> int:
        """Return the weight of the tail."""
        return sum(map(len, self.tail))

    @property
    def log_bytes(self) -> int:
        """Return the weight of the live entries."""
        return sum(size for _, size in self.blocks) + self.tail_bytes

    def pickled(self) -> bytes:
        """Return it as the value that the store keeps."""
        return pickle.dumps([getattr(self, item.name) for item in fields(self)], PROTOCOL)


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

    def inventory(self) -> Iterator[TaskInventory]:
        """List what is keyed."""

    def flush(self) -> None:
        """Let go of memory, if the state has another place to be held in."""


class SlotLog:
    """Append to and load from one slot's log. Lives as long as the task it belongs to."""

    def __init__(self) -> None:
        self._meta = LogMeta()
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
        missing = self._missing(store, meta)
        if missing is None:
            return False
        for entry in missing:
            for delta in pickle.loads(memoryview(entry)[_TOKEN_BYTES:]):
                task.apply(loads(delta))
            task.flush()
        task.settle()
        self._meta = meta
        return True

    def _missing(self, store: SlotStore, meta: LogMeta) -> Iterable[bytes] | None:
        """Return the entries that the task does not know yet, None if it knows others."""
        if not self._meta.token:
            return _entries(store, meta, meta.first)
        known = self._meta.next - 1
        if known == meta.tail_start - 1:
            token = meta.block_token
        elif meta.first <= known < meta.next:
            token = next(_entries(store, meta, known))[:_TOKEN_BYTES]
        else:
            return None
        if token != self._meta.token:
            return None
        return _entries(store, meta, known + 1)

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing has ever been written."""
        return not self._meta.token

    def begin_with(self, store: SlotStore, task: LoggedState) -> None:
        """Write the whole state, of a task that got it from elsewhere; `append` must follow."""
        meta, sweep = self._meta, _Sweep(task, 0)
        while not sweep.done:
            meta.token = os.urandom(_TOKEN_BYTES)
            meta.tail.append(meta.token + pickle.dumps(sweep.take(_FULL_BLOCK), PROTOCOL))
            meta.next += 1
            _store_tail(store, meta)
            task.flush()
        meta.state_bytes = sweep.carried_bytes

    def append(self, store: SlotStore, task: LoggedState) -> dict[str, int]:
        """Write what changed in a batch; return how many bytes that is, by operator."""
        delta = task.take_delta()
        if not delta:
            return {}  # the state is still the one that goes by the old token
        meta = self._meta
        changes = {uid: dumps(part) for uid, part in _by_operator(delta).items()}
        carried = self._carry(store, task, delta, sum(map(len, changes.values())))
        meta.token = os.urandom(_TOKEN_BYTES)
        # What is carried comes last: it is what the state is now, also for keys in the delta.
        meta.tail.append(meta.token + pickle.dumps([*changes.values(), *carried], PROTOCOL))
        meta.next += 1
        if meta.tail_bytes > _TAIL_BYTES:
            _store_tail(store, meta)
        self._trim(store)
        self._merge(store)
        store.write_meta(meta.pickled())
        task.flush()
        return {uid: len(data) for uid, data in changes.items()}

    def _due(self) -> bool:
        meta = self._meta
        return meta.log_bytes > max(_MIN_LOG_BYTES, 2 * meta.state_bytes)

    def _carry(
        self, store: SlotStore, task: LoggedState, delta: dict[Any, Any], weight: int
    ) -> list[bytes]:
        if self._sweep is None:
            if not self._due():
                return []
            if self._meta.tail:
                _store_tail(store, self._meta)  # what is from before the sweep has its own block
            self._sweep = _Sweep(task, self._meta.next)
        elif not self._begins_block(self._sweep.start):
            # Another worker's sweep has gone further meanwhile, or it has made one block of what is
            # from before this sweep and since.
            self._sweep = None
            return []
        budget = max(weight, _MIN_SWEEP_BYTES, self._meta.state_bytes // _SWEEP_ENTRIES)
        carried = self._sweep.take(budget)
        if self._sweep.done:
            plain = task.full_plain_state()
            self._sweep.carried_bytes += sum(map(len, plain.values()))
            rest = {name: data for name, data in plain.items() if name not in delta}
            carried.append(dumps(rest))
        return carried

    def _begins_block(self, number: int) -> bool:
        meta = self._meta
        return number == meta.tail_start or any(first == number for first, _ in meta.blocks)

    def _merge(self, store: SlotStore) -> None:
        """Make one block of the last ones, if there are many of one size: see `_MERGED`."""
        meta = self._meta
        start = 0 if self._sweep is None else self._sweep.start  # what is older goes away soon
        largest = max(_FULL_BLOCK, meta.log_bytes // _MOST_BLOCKS)
        while meta.blocks:
            run = _alike(meta.blocks, start)
            if len(run) < _MERGED or sum(size for _, size in run) > largest:
                return
            run.reverse()
            entries = [entry for first, _ in run for entry in _read_block(store, first)]
            block = pickle.dumps(entries, PROTOCOL)
            store.write(run[0][0], block)
            meta.blocks[-len(run) :] = [(run[0][0], len(block))]
            meta.dead += [first for first, _ in run[1:]]

    def _trim(self, store: SlotStore) -> None:
        meta = self._meta
        if self._sweep is not None and self._sweep.done:
            start = self._sweep.start
            meta.state_bytes = self._sweep.carried_bytes
            meta.dead += [first for first, _ in meta.blocks if first < start]
            meta.blocks = [block for block in meta.blocks if block[0] >= start]
            self._sweep = None
        for number in meta.dead[:_REMOVALS]:
            store.remove(number)
        del meta.dead[:_REMOVALS]


def _by_operator(delta: dict[Any, Any]) -> dict[str, dict[Any, Any]]:
    parts: dict[str, dict[Any, Any]] = {}
    for name, part in delta.items():
        parts.setdefault(name[0] if isinstance(name, tuple) else name, {})[name] = part
    return parts


def _store_tail(store: SlotStore, meta: LogMeta) -> None:
    first = meta.tail_start
    block = pickle.dumps(meta.tail, PROTOCOL)
    store.write(first, block)
    meta.blocks.append((first, len(block)))
    meta.block_token = meta.tail[-1][:_TOKEN_BYTES]
    meta.tail = []


def _entries(store: SlotStore, meta: LogMeta, begin: int) -> Iterator[bytes]:
    """Read the log from entry `begin` on."""
    starts = [*(first for first, _ in meta.blocks), meta.tail_start]
    for first, end in pairwise(starts):
        if end > begin:
            yield from _read_block(store, first)[max(begin - first, 0) :]
    yield from meta.tail[max(begin - meta.tail_start, 0) :]


def _alike(blocks: list[tuple[int, int]], start: int) -> list[tuple[int, int]]:
    """Return the last blocks, backwards, that are not much larger than the very last."""
    limit = _MERGED // 2 * max(_TAIL_BYTES, blocks[-1][1])
    return list(takewhile(lambda block: block[1] < limit and block[0] >= start, reversed(blocks)))


def _read_block(store: SlotStore, first: int) -> list[bytes]:
    block = store.read(first)
    assert block is not None, f"block {first} of the state log is missing"
    entries: list[bytes] = pickle.loads(block)
    return entries


class _Sweep:
    """Carry the whole state into the log, some of it with every entry."""

    def __init__(self, task: LoggedState, start: int) -> None:
        #: Entries from this number on make up the state once the sweep is done.
        self.start = start
        self.carried_bytes = 0
        self._parts = [(*part[:3], iter(part[3]), part[4]) for part in task.inventory()]
        self._parts.reverse()  # the next one stands last

    @property
    def done(self) -> bool:
        """Tell whether everything has been carried."""
        return not self._parts

    def take(self, budget: int) -> list[bytes]:
        """Return deltas that hold the whole values of the next keys, of about `budget` bytes."""
        carried: list[bytes] = []
        until = self.carried_bytes + budget
        while not self.done and self.carried_bytes < until:
            operator, place, kind, keys, dump = self._parts[-1]
            some = list(islice(keys, _SWEEP_STEP))
            carried.append(dumps({operator: {place: (kind, dump(some))}}))
            self.carried_bytes += len(carried[-1])
            if len(some) < _SWEEP_STEP:
                self._parts.pop()
        return carried
