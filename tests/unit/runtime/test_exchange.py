"""Every partitioner sends every record where it belongs, with its watermarks around it."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.types import Row
from penstock.core.functions import KeySelector, RuntimeContext
from penstock.core.functions import Partitioner as PartitionerFunction
from penstock.core.key_groups import key_group, slot_of_group
from penstock.errors import ProgramError, SerializationError, UnstableKeyError
from penstock.graph.specs import (
    Broadcast,
    Custom,
    Forward,
    Global,
    Hash,
    MapSpec,
    Partitioner,
    Rebalance,
    Rescale,
    Shuffle,
)
from penstock.runtime import exchange
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.envelope import Chunk, Outbox, header_of, unpack_chunk
from penstock.runtime.exchange import ExchangeWriter, make_writer, senders_to, targets
from penstock.runtime.scope import Scope
from tests.unit.runtime.plans import Input, Planner


def itself(value: Any) -> Any:
    return value


class Sender:
    """One subtask that sends along one edge."""

    def __init__(
        self, partitioner: Partitioner, receivers: int, *, senders: int = 1, subtask: int = 0
    ) -> None:
        planner = Planner()
        source = planner.source(parallelism=senders)
        target = planner.add(
            MapSpec(itself), Input(source, partitioner), name="target", parallelism=receivers
        )
        plan = planner.build()
        operator = plan.operator(source)
        self.scope = Scope()
        self.outbox = Outbox(0, subtask)
        context = OperatorRuntimeContext(operator, subtask, None, self.scope, {}, False)
        edge = operator.outputs[0]
        receiver = dataclasses.replace(plan.operator(target), level=1)
        self.writer: ExchangeWriter = make_writer(edge, operator, receiver, self.outbox, context)
        self.writer.open()
        self.outbox.begin(77)

    def send(self, *values: Any, timestamp: int | None = None) -> Sender:
        self.scope.timestamp = timestamp
        self.writer.process_all(values)
        return self

    def chunks(self) -> dict[int, list[Chunk]]:
        """End the batch and return what was sent to each slot."""
        self.writer.end_batch()
        sent: dict[int, list[Chunk]] = {}
        for number, (hop, payload) in enumerate(self.outbox.rows):
            header = header_of(payload)
            assert (hop, header.level, header.time) == (header.slot, 1, 77), number
            assert header.seq == len(sent.setdefault(header.slot, []))
            sent[header.slot].append(unpack_chunk(payload))
        self.outbox.begin(77)
        return sent

    def values(self) -> dict[int, list[Any]]:
        return {
            slot: [value for chunk in chunks for value in chunk.values]
            for slot, chunks in self.chunks().items()
        }


# --- who is connected to whom -----------------------------------------------------------------


@pytest.mark.parametrize("partitioner", [Hash(itself), Rebalance(), Shuffle(), Broadcast()])
def test_most_partitioners_reach_every_slot(partitioner: Partitioner) -> None:
    assert targets(partitioner, 1, 2, 3) == range(3)
    assert senders_to(partitioner, 2, 2, 3) == [0, 1]


def test_forward_keeps_the_subtask() -> None:
    assert targets(Forward(), 1, 3, 3) == range(1, 2)
    assert senders_to(Forward(), 2, 3, 3) == [2]


@pytest.mark.parametrize(
    ("senders", "receivers", "expected"),
    [
        (2, 2, [[0], [1]]),
        (1, 3, [[0, 1, 2]]),
        (2, 4, [[0, 1], [2, 3]]),
        (2, 5, [[0, 1, 2], [3, 4]]),
        (4, 2, [[0], [0], [1], [1]]),
        (5, 2, [[0], [0], [1], [1], [1]]),
        (3, 1, [[0], [0], [0]]),
    ],
)
def test_rescale_connects_neighbours_as_flink_does(
    senders: int, receivers: int, expected: list[list[int]]
) -> None:
    assert [list(targets(Rescale(), i, senders, receivers)) for i in range(senders)] == expected


def flink_pointwise(senders: int, receivers: int) -> list[tuple[int, int]]:
    """Return who is connected to whom, told by the side that has more subtasks."""
    pairs = []
    if senders >= receivers:
        for receiver in range(receivers):
            first, end = (i * senders // receivers for i in (receiver, receiver + 1))
            pairs += [(sender, receiver) for sender in range(first, end)]
    else:
        for receiver in range(receivers):
            pairs.append((receiver * senders // receivers, receiver))
    return sorted(pairs)


@given(st.integers(1, 40), st.integers(1, 40))
def test_rescale_leaves_nobody_out(senders: int, receivers: int) -> None:
    pairs = [
        (i, slot) for i in range(senders) for slot in targets(Rescale(), i, senders, receivers)
    ]
    assert pairs == flink_pointwise(senders, receivers)
    assert {slot for _, slot in pairs} == set(range(receivers))


# --- the choice of a slot ---------------------------------------------------------------------


def test_hash_sends_equal_keys_to_the_slot_of_their_group() -> None:
    sender = Sender(Hash(itself), 3)
    keys = ["a", "b", 1, 1.0, True, (1, "x"), None, "a"]
    chunks = sender.send(*keys).chunks()
    for slot, (chunk,) in chunks.items():
        assert chunk.keys == chunk.values
        for key in chunk.keys or []:
            assert slot_of_group(key_group(key, 128), 3, 128) == slot
    assert Counter(v for (chunk,) in chunks.values() for v in chunk.values) == Counter(keys)


def test_a_key_keeps_its_type() -> None:
    (chunk,) = Sender(Hash(itself), 1).send(1, 1.0, True).chunks()[0]
    assert [type(key) for key in chunk.keys or []] == [int, float, bool]


def test_more_keys_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_REMEMBERED_KEYS", 4)
    sent = Sender(Hash(itself), 2).send(*range(50), *range(50)).values()
    assert sorted(sent[0] + sent[1]) == sorted([*range(50)] * 2)
    assert not set(sent[0]) & set(sent[1])


def test_rebalance_deals_in_turn_and_goes_on_in_the_next_batch() -> None:
    sender = Sender(Rebalance(), 3)
    assert sender.send(*range(4)).values() == {0: [0, 3], 1: [1], 2: [2]}
    other = Sender(Rebalance(), 3)
    other.writer.restore(sender.writer.snapshot())
    assert other.send(4, 5).values() == sender.send(4, 5).values() == {0: [], 1: [4], 2: [5]}


def test_rescale_deals_in_turn_among_its_own() -> None:
    sender = Sender(Rescale(), 5, senders=2, subtask=1)
    assert sender.send(*range(5)).values() == {3: [0, 2, 4], 4: [1, 3]}
    assert Sender(Rescale(), 2, senders=5, subtask=2).send(7).values() == {1: [7]}


def test_shuffle_looks_random_and_is_not() -> None:
    def spread(subtask: int, *cuts: int) -> dict[int, list[int]]:
        """Send 9000 numbers in batches, each in another worker."""
        sent: dict[int, list[int]] = {0: [], 1: [], 2: []}
        state = None
        for start, end in zip((0, *cuts), (*cuts, 9000), strict=True):
            sender = Sender(Shuffle(), 3, senders=2, subtask=subtask)
            sender.writer.restore(state)
            for slot, values in sender.send(*range(start, end)).values().items():
                sent[slot] += values
            state = sender.writer.snapshot()
        return sent

    whole = spread(0)
    assert all(2800 < len(values) < 3200 for values in whole.values())
    assert whole == spread(0)
    assert whole == spread(0, 10, 4711), "wherever batches are cut"
    assert whole != spread(1)
    runs = sum(1 for a, b in zip(whole[0], whole[0][1:], strict=False) if b == a + 1)
    assert 900 < runs < 1100, "a third of the neighbours go the same way"


def test_global_sends_everything_to_the_first_slot() -> None:
    assert Sender(Global(), 3).send(1, 2).values() == {0: [1, 2], 1: [], 2: []}


def test_forward_sends_everything_to_the_slot_of_the_same_index() -> None:
    assert Sender(Forward(), 3, senders=3, subtask=2).send(1, 2).values() == {2: [1, 2]}


def test_broadcast_sends_an_object_of_its_own_to_every_slot() -> None:
    sent = Sender(Broadcast(), 2).send([1], "x").values()
    assert sent == {0: [[1], "x"], 1: [[1], "x"]}
    assert sent[0][0] is not sent[1][0]


def test_a_custom_partitioner_is_asked_with_key_and_number_of_slots() -> None:
    class Backwards(PartitionerFunction[int]):
        def partition(self, key: int, num_partitions: int) -> int:
            return num_partitions - 1 - key

    partitioner = Custom(Backwards(), lambda pair: pair[0])
    assert Sender(partitioner, 3).send((0, "a"), (2, "b")).values() == {
        0: [(2, "b")], 1: [], 2: [(0, "a")],
    }  # fmt: skip
    plain = Custom(lambda key, n: key % n, itself)
    assert Sender(plain, 2).send(3, 4).values() == {0: [4], 1: [3]}


# --- what travels -----------------------------------------------------------------------------


def test_a_record_travels_as_it_was_when_it_was_sent() -> None:
    record: dict[str, Any] = {"n": 1}
    sender = Sender(Rebalance(), 1).send(record)
    record["n"] = 2
    assert sender.values() == {0: [{"n": 1}]}


def test_a_key_travels_as_it_was_when_it_was_sent() -> None:
    row = Row("a", 1)
    sender = Sender(Hash(itself), 1)
    for key in "abc":
        row[0] = key
        sender.send(row)
    (chunk,) = sender.chunks()[0]
    assert chunk.keys == chunk.values == [Row("a", 1), Row("b", 1), Row("c", 1)]


def test_timestamps_travel_along() -> None:
    sender = Sender(Hash(itself), 1)
    sender.send(1, 2, timestamp=5).send(3).send(4, timestamp=-(2**65))
    (chunk,) = sender.chunks()[0]
    assert chunk.timestamps == [5, 5, None, -(2**65)]


def test_watermarks_stand_between_the_records_of_every_slot() -> None:
    sender = Sender(Rebalance(), 2)
    sender.writer.watermark(1)
    sender.send("a", "b", "c")
    sender.writer.watermark(2)
    sender.writer.watermark(3)
    sender.send("d")
    sender.writer.watermark(4)
    chunks = sender.chunks()
    assert [chunks[slot][0].values for slot in (0, 1)] == [["a", "c"], ["b", "d"]]
    assert chunks[0][0].marks == [(0, 1), (2, 2), (2, 3), (2, 4)]
    assert chunks[1][0].marks == [(0, 1), (1, 2), (1, 3), (2, 4)]


def test_a_full_envelope_leaves_with_its_watermarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "ENVELOPE_RECORDS", 2)
    for partitioner in (Hash(itself), Rebalance(), Broadcast()):
        sender = Sender(partitioner, 1)
        sender.send(1)
        sender.writer.watermark(10)
        sender.send(2)
        sender.writer.watermark(20)
        sender.send(3)
        sender.writer.set_idle(True)
        first, last = sender.chunks()[0]
        assert (first.values, first.marks, first.idle) == ([1, 2], [(1, 10)], None)
        assert (last.values, last.marks, last.idle, last.ended) == ([3], [(0, 20)], True, False)


def test_an_envelope_that_is_full_of_watermarks_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "ENVELOPE_RECORDS", 3)
    sender = Sender(Rebalance(), 2)
    sender.send("a")
    for watermark in range(5):
        sender.writer.watermark(watermark)
    sender.send("b", "c")
    chunks = sender.chunks()
    marks = [[chunk.marks for chunk in chunks[slot]] for slot in (0, 1)]
    assert marks == [
        [[(1, 0), (1, 1), (1, 2)], [(0, 3), (0, 4)]],
        [[(0, 0), (0, 1), (0, 2)], [(0, 3), (0, 4)]],
    ]
    assert [[chunk.values for chunk in chunks[slot]] for slot in (0, 1)] == [
        [["a"], ["c"]],
        [[], ["b"]],
    ]


def test_every_slot_hears_from_a_channel_in_every_batch() -> None:
    sender = Sender(Hash(itself), 3)
    sender.send("a")
    assert sender.chunks().keys() == {0, 1, 2}
    sender.writer.watermark(9)
    sender.writer.end()
    (chunk,) = sender.chunks()[2]
    assert (chunk.values, chunk.marks, chunk.ended) == ([], [(0, 9)], True)
    (chunk,) = sender.chunks()[2]
    assert (chunk.marks, chunk.ended) == ([], True)


def test_idleness_and_the_end_are_remembered_from_batch_to_batch() -> None:
    sender = Sender(Rebalance(), 1)
    assert sender.writer.snapshot() is None
    sender.writer.set_idle(True)
    sender.writer.end()
    other = Sender(Rebalance(), 1)
    other.writer.restore(sender.writer.snapshot())
    (chunk,) = other.chunks()[0]
    assert (chunk.idle, chunk.ended) == (True, True)
    other.writer.restore(None)
    (chunk,) = other.chunks()[0]
    assert (chunk.idle, chunk.ended) == (False, False), "nothing saved is a state too"


def test_a_selector_is_opened_has_the_context_and_keeps_its_attributes() -> None:
    class Numbering(KeySelector[Any, int]):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.parallelism = runtime_context.get_number_of_parallel_subtasks()
            self.seen = 0

        def get_key(self, value: Any) -> int:
            self.seen += 1
            return self.seen * self.parallelism

    selector = Numbering()
    sender = Sender(Hash(selector), 1, senders=2)
    assert sender.send("a", "b").chunks()[0][0].keys == [2, 4]
    other = Sender(Hash(selector), 1, senders=2)
    other.writer.restore(sender.writer.snapshot())
    assert other.send("c").chunks()[0][0].keys == [6]
    assert not hasattr(selector, "seen"), "each subtask has a selector of its own"


# --- errors -----------------------------------------------------------------------------------


class Locked:
    __hash__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __repr__(self) -> str:
        return "Locked()"


def test_a_key_that_can_be_pickled_in_no_way() -> None:
    with pytest.raises(UnstableKeyError) as caught:
        Sender(Hash(lambda value: Locked()), 2).send(5)
    assert str(caught.value) == (
        "a Locked cannot be a key: cannot pickle '_thread.lock' object\n"
        "  where: key_by in front of operator 'target', built at job.py:11\n"
        "  got:   Locked()\n"
        "  to do: use a tuple, a string or a number, or declare the class with "
        "@dataclass(frozen=True)"
    )


def test_a_key_whose_hash_fails() -> None:
    @dataclasses.dataclass(frozen=True)
    class Touchy:
        def __hash__(self) -> int:
            raise TypeError("do not touch")

        def __repr__(self) -> str:
            return "Touchy()"

    with pytest.raises(UnstableKeyError) as caught:
        Sender(Hash(lambda value: Touchy()), 2).send(5)
    assert str(caught.value) == (
        "a Touchy cannot be a key: do not touch\n"
        "  where: key_by in front of operator 'target', built at job.py:11\n"
        "  got:   Touchy()\n"
        "  to do: use a tuple, a string or a number, or declare the class with "
        "@dataclass(frozen=True)"
    )


@pytest.mark.parametrize("slot", [3, -1, "1", None, 1.0])
def test_a_partitioner_that_returns_no_slot(slot: Any) -> None:
    with pytest.raises(ProgramError) as caught:
        Sender(Custom(lambda key, n: slot, itself), 3).send("record")
    assert str(caught.value) == (
        "a partitioner must return a number from 0 to 2\n"
        "  where: partition_custom in front of operator 'target', built at job.py:11\n"
        f"  got:   {slot!r} for 'record'\n"
        "  to do: return the index of one of the num_partitions partitions"
    )


def test_a_record_that_cannot_be_pickled() -> None:
    with pytest.raises(SerializationError) as caught:
        Sender(Rebalance(), 1).send({"generator": (i for i in [1])})
    assert str(caught.value).startswith("a dict cannot be pickled, so it cannot travel")
