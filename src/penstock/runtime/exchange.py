"""The output side of an exchange: choose a slot for each record and pack records into envelopes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import cloudpickle

from penstock.core.functions.host import FunctionHost
from penstock.core.key_groups import key_group, slot_of_group
from penstock.core.value_keys import wrapped
from penstock.errors import ProgramError, RecordTooLargeError, UnstableKeyError, show_value
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
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.envelope import Chunk, Outbox

#: Records in one envelope at most, and watermarks: large enough that Spark moves few rows, small
#: enough to bound what one row weighs.
ENVELOPE_RECORDS = 8192
#: Keys whose slot is remembered; beyond it the memory starts anew.
_REMEMBERED_KEYS = 1_000_000
_MASK = (1 << 64) - 1


def targets(partitioner: Partitioner, subtask: int, senders: int, receivers: int) -> range:
    """Return the slots that a sender's subtask is connected to."""
    if isinstance(partitioner, Forward):
        return range(subtask, subtask + 1)
    if isinstance(partitioner, Rescale):
        # Neighbours belong together, in the shares that Flink gives them.
        if receivers >= senders:
            start, end = (-(-i * receivers // senders) for i in (subtask, subtask + 1))
            return range(start, end)
        place = ((subtask + 1) * receivers - 1) // senders
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

    def clear(self) -> None:
        """Start anew, in the same lists: others hold on to them."""
        self.values.clear()
        self.timestamps.clear()
        self.keys.clear()
        self.marks.clear()


#: How to add a record to a buffer: to its keys, its timestamps and its values, which come last.
_Lane = tuple[Callable[[Any], None], Callable[[Any], None], Callable[[Any], None], list[Any]]


class ExchangeWriter:
    """Base: pack records of one edge from one subtask; subclasses choose the slot.

    :param context: of the sending operator, for what the user gave to choose the slot.
    """

    #: What of the user's is asked, for messages.
    asks = ""
    #: Records and bytes that have left; whoever reads them sets them back.
    sent = 0
    sent_bytes = 0

    def __init__(
        self, edge: PlanEdge, source: PlanOperator, target: PlanOperator,
        outbox: Outbox, context: OperatorRuntimeContext,
    ) -> None:  # fmt: skip
        subtask = context.get_index_of_this_subtask()
        self.edge = edge
        self.sender = source
        self.plan = target
        self._context = context
        self._hosts: list[FunctionHost] = []
        self._level = target.level
        self.subtask = subtask
        self._outbox = outbox
        self._scope = context.scope
        self._receivers = target.parallelism
        self._slots = targets(edge.partitioner, subtask, source.parallelism, target.parallelism)
        #: To how many slots each record goes.
        self.copies = len(self._slots) if isinstance(edge.partitioner, Broadcast) else 1
        self._buffers = {slot: _Buffer() for slot in self._slots}
        self._keyed = False
        self._idle = False
        self._ended = False

    def host(self, function: Any, name: str) -> Callable[..., Any]:
        """Take in a copy of what the user gave, and return how to call it."""
        copy = cloudpickle.loads(cloudpickle.dumps(function))
        self._hosts.append(FunctionHost(copy, self._context))
        direct: Callable[[], Callable[..., Any]] | None = getattr(copy, "direct", None)
        return method_of(copy, name) if direct is None else direct()

    def open(self) -> None:
        """Open what the user gave."""
        for host in self._hosts:
            host.open()

    def close(self) -> None:
        """Close what the user gave."""
        for host in self._hosts:
            host.close()

    def process(self, value: Any) -> None:
        """Send one record."""
        self._append(self._choose(value), freeze(value))

    def process_all(self, values: Iterable[Any]) -> None:
        """Send many records; the scope's timestamp goes with each."""
        choose, append = self._choose, self._append
        for value in values:
            append(choose(value), value if type(value) in ATOMIC else freeze(value))

    def _choose(self, value: Any) -> int:
        raise TypeError("abstract")

    def _append(self, slot: int, entry: Any) -> None:
        buffer = self._buffers[slot]
        buffer.values.append(entry)
        buffer.timestamps.append(self._scope.timestamp)
        if len(buffer.values) >= ENVELOPE_RECORDS:
            self._flush(slot)

    def watermark(self, watermark: int) -> None:
        """Send a watermark behind the records sent so far; each one counts, to every slot."""
        for slot, buffer in self._buffers.items():
            buffer.marks.append((len(buffer.values), watermark))
            if len(buffer.marks) >= ENVELOPE_RECORDS:
                self._flush(slot)

    def set_idle(self, idle: bool) -> None:
        """Say at the end of the batch whether this channel is idle."""
        self._idle = idle

    def end(self) -> None:
        """Say at the end of the batch that this channel has ended."""
        self._ended = True

    def flush(self) -> None:
        """Send what there is: what follows has another processing time."""
        for slot, buffer in self._buffers.items():
            if buffer.values or buffer.marks:
                self._flush(slot)

    def end_batch(self) -> None:
        """Send what is left. Every connected slot gets an envelope in every batch."""
        for slot in self._slots:
            self._flush(slot, last=True)

    def _flush(self, slot: int, last: bool = False) -> None:
        buffer = self._buffers[slot]
        keys = buffer.keys if self._keyed else None
        chunk = Chunk(buffer.values, buffer.timestamps, keys, buffer.marks)
        if last:
            chunk.idle, chunk.ended = self._idle, self._ended
        try:
            weight = self._outbox.send_chunk(self.edge.id, self._level, slot, self.subtask, chunk)
        except RecordTooLargeError as error:
            error.where = f"between {self.sender.describe()} and {self.plan.describe()}"
            raise
        self.sent += len(buffer.values)
        self.sent_bytes += weight
        buffer.clear()

    def snapshot(self) -> Any:
        """Return what the next batch must know, or None."""
        functions = [host.snapshot() for host in self._hosts]
        state = (self._idle, self._ended, self._position(), functions)
        return state if any(state[:3]) or any(functions) else None

    def restore(self, snapshot: Any) -> None:
        """Undo `snapshot`. None is a state too: that of the beginning."""
        self._idle, self._ended, position, functions = snapshot or (False, False, 0, ())
        self._set_position(position)
        for host, saved in zip(self._hosts, functions, strict=False):
            if saved is not None:
                host.restore(saved)

    def _position(self) -> int:
        """Return how far along the choice of slots is."""
        return 0

    def _set_position(self, position: int) -> None:
        """Undo `_position`."""


def _lane(buffer: _Buffer) -> _Lane:
    return buffer.keys.append, buffer.timestamps.append, buffer.values.append, buffer.values


class KeyedWriter(ExchangeWriter):
    """Send each record to the slot of its key; the key travels along."""

    asks = "the key selector"

    def __init__(self, edge: PlanEdge, source: PlanOperator, target: PlanOperator,
                 outbox: Outbox, context: OperatorRuntimeContext) -> None:  # fmt: skip
        super().__init__(edge, source, target, outbox, context)
        partitioner = edge.partitioner
        assert isinstance(partitioner, Hash)
        self._key_of: Callable[[Any], Any] = self.host(partitioner.key_selector, "get_key")
        self._max_parallelism = target.max_parallelism
        #: By slot, and by key for the keys seen: a record is three appends after one look-up.
        self._lanes = [_lane(self._buffers[slot]) for slot in self._slots]
        self._lane_of: dict[Any, _Lane] = {}
        self._keyed = True
        converter = source.converter if edge.output_tag is None else None
        if partitioner.immutable or (converter is not None and converter.immutable):
            self.process_all = self._send_immutable  # type: ignore[method-assign]

    def process(self, value: Any) -> None:
        """Send one record."""
        self.process_all((value,))

    def _send_immutable(self, values: Iterable[Any]) -> None:
        """Send many records of a declared type whose values cannot change: without a look at it."""
        key_of, lane_of, scope = self._key_of, self._lane_of, self._scope
        for value in values:
            key = key_of(value)
            try:
                add_key, add_time, add_value, records = lane_of[key]
            except (KeyError, TypeError):
                key = self._wrapped(key)
                add_key, add_time, add_value, records = self._place(key)
            add_key(key if type(key) in ATOMIC else freeze(key))
            add_time(scope.timestamp)
            add_value(value)
            if len(records) >= ENVELOPE_RECORDS:
                self._flush(self._slot(key))

    def process_all(self, values: Iterable[Any]) -> None:
        """Send many records; the scope's timestamp goes with each."""
        key_of, lane_of, scope = self._key_of, self._lane_of, self._scope
        for value in values:
            key = key_of(value)
            try:
                add_key, add_time, add_value, records = lane_of[key]
            except KeyError:
                add_key, add_time, add_value, records = self._place(key)
            except TypeError:
                key = self._wrapped(key)
                add_key, add_time, add_value, records = self._place(key)
            add_key(key if type(key) in ATOMIC else freeze(key))
            add_time(scope.timestamp)
            if type(value) is tuple:
                # As `freeze` does it, but for the call.
                for item in value:
                    if type(item) not in ATOMIC:
                        value = freeze(value)
                        break
            elif type(value) not in ATOMIC:
                value = freeze(value)
            add_value(value)
            if len(records) >= ENVELOPE_RECORDS:
                self._flush(self._slot(key))

    def _slot(self, key: Any) -> int:
        group = key_group(key, self._max_parallelism)
        return slot_of_group(group, self._receivers, self._max_parallelism)

    def _place(self, key: Any) -> _Lane:
        try:
            lane = self._lanes[self._slot(key)]
        except UnstableKeyError as error:
            error.where = f"key_by in front of {self.plan.describe()}"
            raise
        if len(self._lane_of) >= _REMEMBERED_KEYS:
            self._lane_of.clear()
        self._lane_of[key] = lane
        return lane

    def _wrapped(self, key: Any) -> Any:
        try:
            return wrapped(key)
        except Exception as error:
            raise UnstableKeyError(
                f"a {type(key).__name__} cannot be a key: {error}",
                where=f"key_by in front of {self.plan.describe()}",
                got=show_value(key),
                todo="use a tuple, a string or a number, or declare the class with "
                "@dataclass(frozen=True)",
            ) from None


class _CountingWriter(ExchangeWriter):
    """Base of those who choose by the number of the record: it goes on over batches.

    So it makes no difference where batches are cut, and a replay chooses the same slots.
    """

    _count = 0

    def _position(self) -> int:
        return self._count

    def _set_position(self, position: int) -> None:
        self._count = position


class RoundRobinWriter(_CountingWriter):
    """Deal records out in turn: rebalance over all slots, rescale over the connected ones."""

    def _choose(self, value: Any) -> int:
        slot = self._slots[self._count]
        self._count = (self._count + 1) % len(self._slots)
        return slot


class RandomWriter(_CountingWriter):
    """Send each record to a slot that looks random."""

    def _choose(self, value: Any) -> int:
        self._count += 1
        # The steps of splitmix64, from a place of its own for every channel.
        number = self._count + (self.edge.id << 40) + (self.subtask << 56)
        number = (number * 0x9E3779B97F4A7C15) & _MASK
        number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
        return (number >> 16) % self._receivers


class SingleSlotWriter(ExchangeWriter):
    """Forward and global: always the same slot."""

    def _choose(self, value: Any) -> int:
        return self._slots[0]


class BroadcastWriter(ExchangeWriter):
    """Send each record to every slot."""

    def process(self, value: Any) -> None:
        """Send one record."""
        entry = freeze(value)  # once for all: each slot unpacks an object of its own
        for slot in self._slots:
            self._append(slot, entry)

    def process_all(self, values: Iterable[Any]) -> None:
        """Send many records."""
        for value in values:
            self.process(value)


class CustomWriter(ExchangeWriter):
    """Ask the user's partitioner."""

    asks = "the partitioner"

    def __init__(self, edge: PlanEdge, source: PlanOperator, target: PlanOperator,
                 outbox: Outbox, context: OperatorRuntimeContext) -> None:  # fmt: skip
        super().__init__(edge, source, target, outbox, context)
        partitioner = edge.partitioner
        assert isinstance(partitioner, Custom)
        self._partition = self.host(partitioner.partitioner, "partition")
        self._key_of = self.host(partitioner.key_selector, "get_key")

    def _choose(self, value: Any) -> int:
        slot = self._partition(self._key_of(value), self._receivers)
        if not isinstance(slot, int) or not 0 <= slot < self._receivers:
            raise ProgramError(
                f"a partitioner must return a number from 0 to {self._receivers - 1}",
                where=f"partition_custom in front of {self.plan.describe()}",
                got=f"{show_value(slot)} for {show_value(value)}",
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
                outbox: Outbox, context: OperatorRuntimeContext) -> ExchangeWriter:  # fmt: skip
    """Return the writer for an edge that crosses levels."""
    writer = _WRITERS[type(edge.partitioner)]
    return writer(edge, source, target, outbox, context)
