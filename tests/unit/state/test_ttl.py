"""State that expires: each kind, what renews a life, what may be seen, what is cleaned up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.common import Time
from penstock.core.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.core.state.ttl import StateTtlConfigBuilder
from penstock.datastream import AggregateFunction, KeyedProcessFunction, RuntimeContext
from penstock.testing import OneInputHarness

pytestmark = pytest.mark.usefixtures("backend")

TTL = 100


class Listing(AggregateFunction):
    """An accumulator that shows what went into it."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        return [*accumulator, value]

    def get_result(self, accumulator: list[Any]) -> str:
        return "".join(accumulator)

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b


KINDS: dict[str, Callable[[], StateDescriptor]] = {
    "value": lambda: ValueStateDescriptor("s"),
    "list": lambda: ListStateDescriptor("s"),
    "map": lambda: MapStateDescriptor("s"),
    "reducing": lambda: ReducingStateDescriptor("s", lambda a, b: a + b),
    "aggregating": lambda: AggregatingStateDescriptor("s", Listing()),
}
EMPTY = {"value": None, "list": [], "map": [], "reducing": None, "aggregating": None}
HOLDING_A = {
    "value": "a",
    "list": ["a"],
    "map": [("a", "a")],
    "reducing": "a",
    "aggregating": "a",
}


class Keep(KeyedProcessFunction):
    """Records are (key, command, argument): write something into the state, or read it."""

    def __init__(self, descriptor: StateDescriptor) -> None:
        self.descriptor = descriptor

    def open(self, runtime_context: RuntimeContext) -> None:
        getters = {
            "value": runtime_context.get_state,
            "list": runtime_context.get_list_state,
            "map": runtime_context.get_map_state,
            "reducing": runtime_context.get_reducing_state,
            "aggregating": runtime_context.get_aggregating_state,
        }
        self.state: Any = getters[self.descriptor.kind](self.descriptor)

    def process_element(self, value: tuple[str, str, str], ctx: Any) -> Iterator[Any]:
        _, command, argument = value
        if command == "write":
            self.write(argument)
        elif command == "clear":
            self.state.clear()
        else:
            yield self.read()

    def write(self, argument: str) -> None:
        kind = self.descriptor.kind
        if kind == "value":
            self.state.update(argument)
        elif kind == "map":
            self.state.put(argument, argument)
        else:
            self.state.add(argument)

    def read(self) -> Any:
        if self.descriptor.kind == "value":
            return self.state.value()
        if self.descriptor.kind == "map":
            return list(self.state.items())
        found = self.state.get()
        return list(found) if self.descriptor.kind == "list" else found


class Bench:
    """A function over one state, on a clock."""

    def __init__(self, kind: str, config: StateTtlConfigBuilder | None = None) -> None:
        descriptor = KINDS[kind]()
        config = StateTtlConfig.new_builder(Time.milliseconds(TTL)) if config is None else config
        descriptor.enable_time_to_live(config.build())
        self.harness = OneInputHarness(
            Keep(descriptor), lambda record: record[0], processing_time=1000
        )

    def write(self, argument: str, key: str = "k") -> None:
        self.harness.process_element((key, "write", argument))

    def clear(self) -> None:
        self.harness.process_element(("k", "clear", ""))

    def read(self, key: str = "k") -> Any:
        self.harness.process_element((key, "read", ""))
        (found,) = self.harness.take_records()
        return found

    def at(self, time: int) -> None:
        """Begin a batch at some time after the first one."""
        self.harness.cut()
        self.harness.set_processing_time(1000 + time)

    def held(self) -> int:
        """Return how many keys there are, in the state and in its stamps."""
        return self.harness.state_size()


def ttl() -> StateTtlConfigBuilder:
    return StateTtlConfig.new_builder(Time.milliseconds(TTL))


every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
@pytest.mark.parametrize("moved", [False, True], ids=["same worker", "another worker"])
def test_an_entry_is_gone_when_its_life_is_over(kind: str, moved: bool) -> None:
    bench = Bench(kind)
    bench.write("a")
    assert bench.read() == HOLDING_A[kind]
    bench.at(TTL - 1)
    if moved:
        bench.harness.move()
    assert bench.read() == HOLDING_A[kind]
    bench.at(TTL)
    assert bench.read() == EMPTY[kind]


@every_kind
def test_what_has_expired_is_removed_without_being_read(kind: str) -> None:
    bench = Bench(kind)
    bench.write("a", "one")
    bench.at(50)
    bench.write("a", "other")
    assert bench.held() == 4
    bench.at(TTL)
    assert bench.held() == 2
    bench.harness.move()
    bench.at(TTL + 50)
    assert bench.held() == 0


@every_kind
def test_writing_renews(kind: str) -> None:
    bench = Bench(kind)
    bench.write("a")
    bench.at(80)
    bench.write("b")
    bench.at(TTL + 60)
    expected = {
        "value": "b",
        "list": ["b"],  # each element has a life of its own
        "map": [("b", "b")],
        "reducing": "ab",
        "aggregating": "ab",
    }
    assert bench.read() == expected[kind]


@every_kind
@pytest.mark.parametrize("by_reading", [False, True])
def test_reading_renews_if_asked_to(kind: str, by_reading: bool) -> None:
    config = ttl().update_ttl_on_read_and_write() if by_reading else ttl()
    bench = Bench(kind, config)
    bench.write("a")
    bench.at(80)
    assert bench.read() == HOLDING_A[kind]
    bench.at(160)
    assert bench.read() == (HOLDING_A[kind] if by_reading else EMPTY[kind])


@every_kind
def test_without_clean_up_an_expired_entry_stays_until_it_is_read(kind: str) -> None:
    bench = Bench(kind, ttl().disable_cleanup_in_background())
    bench.write("a")
    bench.at(10 * TTL)
    assert bench.held() == 2
    assert bench.read() == EMPTY[kind]
    assert bench.held() == 0


@every_kind
def test_an_expired_entry_may_be_seen_once_if_allowed(kind: str) -> None:
    config = ttl().disable_cleanup_in_background().return_expired_if_not_cleaned_up()
    bench = Bench(kind, config)
    bench.write("a")
    bench.at(10 * TTL)
    bench.harness.move()
    assert bench.read() == HOLDING_A[kind]
    assert bench.read() == EMPTY[kind]


@every_kind
@pytest.mark.parametrize(
    "cleanup",
    [
        lambda config: config,
        lambda config: config.cleanup_incrementally(1, True),
        lambda config: config.cleanup_full_snapshot(),
        lambda config: config.cleanup_in_rocksdb_compact_filter(1000),
    ],
    ids=["in the background", "incrementally", "in snapshots", "by compaction"],
)
def test_what_was_cleaned_up_is_not_seen(kind: str, cleanup: Any) -> None:
    bench = Bench(kind, cleanup(ttl().return_expired_if_not_cleaned_up()))
    bench.write("a")
    bench.at(TTL)
    assert bench.read() == EMPTY[kind]


@every_kind
def test_clearing_ends_a_life(kind: str) -> None:
    bench = Bench(kind)
    bench.write("a")
    bench.clear()
    assert bench.held() == 0
    bench.at(50)
    bench.write("b")
    bench.at(TTL + 49)
    assert bench.read() != EMPTY[kind]


@every_kind
def test_a_life_that_is_not_limited_costs_nothing(kind: str) -> None:
    descriptor = KINDS[kind]()
    descriptor.enable_time_to_live(StateTtlConfig.disabled())
    harness = OneInputHarness(Keep(descriptor), lambda record: record[0])
    harness.process_element(("k", "write", "a"))
    assert harness.state_size() == 1


@every_kind
def test_turned_on_later_it_counts_from_then_on(kind: str) -> None:
    without, after = KINDS[kind](), KINDS[kind]()
    before = OneInputHarness(Keep(without), lambda record: record[0], processing_time=1000)
    before.process_element(("k", "write", "a"))
    snapshot = before.snapshot()
    after.enable_time_to_live(ttl().build())
    harness = OneInputHarness(Keep(after), lambda record: record[0])
    harness.restore(snapshot)
    for time, seen in ((5000, HOLDING_A), (5000 + TTL - 1, HOLDING_A), (5000 + TTL, EMPTY)):
        harness.set_processing_time(time)
        harness.process_element(("k", "read", ""))
        assert harness.take_records() == [seen[kind]]
        harness.cut()


def test_map_entries_have_lives_of_their_own() -> None:
    bench = Bench("map", ttl().disable_cleanup_in_background())
    bench.write("a")
    bench.at(50)
    bench.write("b")
    bench.at(TTL)
    state = bench.harness.operator.function.state  # type: ignore[attr-defined]
    assert bench.read() == [("b", "b")]
    bench.harness.backend.context.key = "k"  # type: ignore[union-attr]
    assert not state.contains("a")
    assert state.contains("b")
    assert list(state.keys()) == ["b"]
    assert list(state.values()) == ["b"]
    assert state.get("a") is None
    assert not state.is_empty()


def test_an_expired_default_is_the_default_again() -> None:
    descriptor = ValueStateDescriptor("s", default_value="nothing yet")
    descriptor.enable_time_to_live(ttl().build())
    harness = OneInputHarness(Keep(descriptor), lambda record: record[0])
    harness.process_element(("k", "read", ""))
    harness.process_element(("k", "write", "a"))
    harness.process_element(("k", "read", ""))
    harness.set_processing_time(TTL)
    harness.process_element(("k", "read", ""))
    assert harness.take_records() == ["nothing yet", "a", "nothing yet"]
