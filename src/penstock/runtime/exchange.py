"""The output side of an exchange: choose a slot for each record and pack records into envelopes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from penstock.core.key_groups import key_group, slot_of_group
from penstock.errors import ProgramError, UnstableKeyError
from penstock.graph.plan import PlanEdge, PlanOperator
from penstock.graph.specs import (
    Broadcast,
    Custom,
    Forward,
    Global,
    Hash,
    Partitioner,
    Rebalance,
    Rescale,
    Shuffle,
)
from penstock.runtime.calls import method_of
from penstock.runtime.codec import ATOMIC, freeze
from penstock.runtime.envelope import Chunk, Outbox
from penstock.runtime.scope import Scope

#: Records in one envelope at most: large enough that Spark moves few rows, small enough to bound
#: what one row weighs.
ENVELOPE_RECORDS = 8192
#: Keys whose slot is remembered; beyond it the memory starts anew.
_REMEMBERED_KEYS = 1_000_000


def targets(partitioner: Partitioner, subtask: int, senders: int, receivers: int) -> range:
    """Return the slots that a sender's subtask is connected to."""
    if isinstance(partitioner, Forward):
        return range(subtask, subtask + 1)
    if isinstance(partitioner, Rescale):
        if receivers >= senders:
            return range(subtask * receivers // senders, (subtask + 1) * receivers // senders)
        place = subtask * receivers // senders
        return range(place, place + 1)
    return range(receivers)


def senders_to(partitioner: Partitioner, slot: int, senders: int, receivers: int) -> list[int]:
    """Return the sender's subtasks that are connected to a slot."""
    return [i for i in range(senders) if slot in targets(partitioner, i, senders, receivers)]


class _Buffer:
    """Records on their way to one slot."""

    __slots__ = ("keys", "marks", "timestamps", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.timestamps: list[Any] = []
        self.keys: list[Any] = []
        self.marks: list[tuple[int, int]] = []


class ExchangeWriter:
    """Base: pack records of one edge from one subtask; subclasses choose the slot."""

    def __init__(
        self, edge: PlanEdge, source: PlanOperator, target: PlanOperator,
        subtask: int, outbox: Outbox, scope: Scope,
    ) -> None:  # fmt: skip
        self.edge = edge
        self._level = target.level
        self._subtask = subtask
        self._outbox = outbox
        self._scope = scope
        self._receivers = target.parallelism
        self._slots = targets(edge.partitioner, subtask, source.parallelism, target.parallelism)
        self._buffers = {slot: _Buffer() for slot in self._slots}
        self._keyed = False
        self._idle = False
        self._ended = False

    def begin_batch(self, time: int) -> None:
        """Start a batch."""

    def process(self, value: Any) -> None:
        """Send one record."""
        self._append(self._choose(value), value)

    def process_all(self, values: Iterable[Any]) -> None:
        """Send many records; the scope's timestamp goes with each."""
        choose, append = self._choose, self._append
        for value in values:
            append(choose(value), value)

    def _choose(self, value: Any) -> int:
        raise TypeError("abstract")

    def _append(self, slot: int, value: Any) -> None:
        buffer = self._buffers[slot]
        buffer.values.append(value if type(value) in ATOMIC else freeze(value))
        buffer.timestamps.append(self._scope.timestamp)
        if len(buffer.values) >= ENVELOPE_RECORDS:
            self._flush(slot)

    def watermark(self, watermark: int) -> None:
        """Send a watermark behind the records sent so far."""
        for buffer in self._buffers.values():
            mark = (len(buffer.values), watermark)
            if buffer.marks and buffer.marks[-1][0] == mark[0]:
                buffer.marks[-1] = mark
            else:
                buffer.marks.append(mark)

    def set_idle(self, idle: bool) -> None:
        """Say at the end of the batch whether this channel is idle."""
        self._idle = idle

    def end(self) -> None:
        """Say at the end of the batch that this channel has ended."""
        self._ended = True

    def end_batch(self) -> None:
        """Send what is left. Every connected slot gets an envelope in every batch."""
        for slot in self._slots:
            self._flush(slot, last=True)

    def _flush(self, slot: int, last: bool = False) -> None:
        buffer = self._buffers[slot]
        self._buffers[slot] = _Buffer()
        keys = buffer.keys if self._keyed else None
        chunk = Chunk(buffer.values, buffer.timestamps, keys, buffer.marks)
        if last:
            chunk.idle, chunk.ended = self._idle, self._ended
        self._outbox.send_chunk(self.edge.id, self._level, slot, self._subtask, chunk)

    def snapshot(self) -> Any:
        """Return what the next batch must know, or None."""
        return (self._idle, self._ended, self._position()) if self._changed() else None

    def restore(self, snapshot: Any) -> None:
        """Undo `snapshot`."""
        self._idle, self._ended, position = snapshot
        self._set_position(position)

    def _changed(self) -> bool:
        return self._idle or self._ended or bool(self._position())

    def _position(self) -> int:
        return 0

    def _set_position(self, position: int) -> None:
        pass


class KeyedWriter(ExchangeWriter):
    """Send each record to the slot of its key; the key travels along."""

    def __init__(self, edge: PlanEdge, source: PlanOperator, target: PlanOperator,
                 subtask: int, outbox: Outbox, scope: Scope) -> None:  # fmt: skip
        super().__init__(edge, source, target, subtask, outbox, scope)
        partitioner = edge.partitioner
        assert isinstance(partitioner, Hash)
        self._key_of: Callable[[Any], Any] = method_of(partitioner.key_selector, "get_key")
        self._max_parallelism = target.max_parallelism
        self._slot_of: dict[Any, int] = {}
        self._keyed = True
        self._target = target

    def process(self, value: Any) -> None:
        """Send one record."""
        self.process_all((value,))

    def process_all(self, values: Iterable[Any]) -> None:
        """Send many records; the scope's timestamp goes with each."""
        key_of, slot_of, buffers, scope = self._key_of, self._slot_of, self._buffers, self._scope
        for value in values:
            key = key_of(value)
            try:
                slot = slot_of[key]
            except (KeyError, TypeError):
                slot = self._place(key)
            buffer = buffers[slot]
            buffer.keys.append(key)
            buffer.timestamps.append(scope.timestamp)
            records = buffer.values
            records.append(value if type(value) in ATOMIC else freeze(value))
            if len(records) >= ENVELOPE_RECORDS:
                self._flush(slot)

    def _place(self, key: Any) -> int:
        try:
            group = key_group(key, self._max_parallelism)
            if len(self._slot_of) >= _REMEMBERED_KEYS:
                self._slot_of.clear()
            slot = slot_of_group(group, self._receivers, self._max_parallelism)
            self._slot_of[key] = slot
            return slot
        except UnstableKeyError as error:
            error.where = f"key_by in front of {self._target.describe()}"
            raise
        except TypeError as error:
            raise UnstableKeyError(
                f"a {type(key).__name__} cannot be a key: {error}",
                where=f"key_by in front of {self._target.describe()}",
                got=repr(key),
                todo="use a tuple instead of a list or dict, or @dataclass(frozen=True)",
            ) from None


class RoundRobinWriter(ExchangeWriter):
    """Deal records out in turn: rebalance over all slots, rescale over the connected ones."""

    _next = 0

    def _choose(self, value: Any) -> int:
        slot = self._slots[self._next]
        self._next = (self._next + 1) % len(self._slots)
        return slot

    def _position(self) -> int:
        return self._next

    def _set_position(self, position: int) -> None:
        self._next = position


class RandomWriter(ExchangeWriter):
    """Send each record to a random slot. A replay of the batch makes the same choices."""

    def begin_batch(self, time: int) -> None:
        """Start a batch."""
        self._random = random.Random(f"{self.edge.id}/{self._subtask}/{time}")

    def _choose(self, value: Any) -> int:
        return self._random.randrange(self._receivers)


class SingleSlotWriter(ExchangeWriter):
    """Forward and global: always the same slot."""

    def _choose(self, value: Any) -> int:
        return self._slots[0]


class BroadcastWriter(ExchangeWriter):
    """Send each record to every slot."""

    def process(self, value: Any) -> None:
        """Send one record."""
        for slot in self._slots:
            self._append(slot, value)

    def process_all(self, values: Iterable[Any]) -> None:
        """Send many records."""
        for value in values:
            self.process(value)


class CustomWriter(ExchangeWriter):
    """Ask the user's partitioner."""

    def __init__(self, edge: PlanEdge, source: PlanOperator, target: PlanOperator,
                 subtask: int, outbox: Outbox, scope: Scope) -> None:  # fmt: skip
        super().__init__(edge, source, target, subtask, outbox, scope)
        partitioner = edge.partitioner
        assert isinstance(partitioner, Custom)
        self._partition = method_of(partitioner.partitioner, "partition")
        self._key_of = method_of(partitioner.key_selector, "get_key")
        self._target = target

    def _choose(self, value: Any) -> int:
        slot = self._partition(self._key_of(value), self._receivers)
        if not isinstance(slot, int) or not 0 <= slot < self._receivers:
            raise ProgramError(
                f"a partitioner must return a number from 0 to {self._receivers - 1}",
                where=f"partition_custom in front of {self._target.describe()}",
                got=f"{slot!r} for {value!r}",
                todo="return the index of one of the num_partitions partitions",
            )
        return slot


_WRITERS: dict[type[Partitioner], type[ExchangeWriter]] = {
    Hash: KeyedWriter,
    Rebalance: RoundRobinWriter,
    Rescale: RoundRobinWriter,
    Shuffle: RandomWriter,
    Forward: SingleSlotWriter,
    Global: SingleSlotWriter,
    Broadcast: BroadcastWriter,
    Custom: CustomWriter,
}


def make_writer(edge: PlanEdge, source: PlanOperator, target: PlanOperator,
                subtask: int, outbox: Outbox, scope: Scope) -> ExchangeWriter:  # fmt: skip
    """Return the writer for an edge that crosses levels."""
    writer = _WRITERS[type(edge.partitioner)]
    return writer(edge, source, target, subtask, outbox, scope)
