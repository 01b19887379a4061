"""What is put into state stays what it was; what is read from it is the reader's own.

Each program runs in one batch and in batches of one record: an object that is shared within a batch
only would give two different answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock.common import Duration, Time, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.functions import AggregateFunction
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.datastream.window import SlidingEventTimeWindows
from tests.unit.process.jobs import run

RECORDS = [("a", 1), ("b", 2), ("a", 3), ("b", 4), ("a", 5)]


@dataclass
class Box:
    numbers: list[int] = field(default_factory=list)


def boxed(numbers: list[int]) -> Box:
    return Box(numbers)


def plain(numbers: list[int]) -> list[int]:
    return numbers


class SharedBuffer(KeyedProcessFunction):
    """Update one buffer into the state of all keys, and go on changing it."""

    def __init__(self, wrap: Callable[[Any], Any], ttl: bool) -> None:
        self.wrap = wrap
        self.ttl = ttl

    def open(self, runtime_context: RuntimeContext) -> None:
        self.buffer: list[int] = []
        value, entries = ValueStateDescriptor("value"), MapStateDescriptor("map")
        if self.ttl:
            for descriptor in (value, entries):
                config = StateTtlConfig.new_builder(Time.hours(1)).build()
                descriptor.enable_time_to_live(config)
        self.value = runtime_context.get_state(value)
        self.map = runtime_context.get_map_state(entries)
        self.last = runtime_context.get_reducing_state(ReducingStateDescriptor("last", newer))
        self.all = runtime_context.get_aggregating_state(AggregatingStateDescriptor("all", All()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        before = self.value.value(), self.map.get("x"), self.last.get(), self.all.get()
        yield value, repr(before)
        buffer = [value[1]]
        self.value.update(self.wrap(buffer))
        self.map.put("x", self.wrap(buffer))
        self.last.add(buffer)
        self.all.add(buffer)
        buffer.append(-1)
        for read in (self.value.value(), *self.map.values(), self.last.get(), self.all.get()):
            (read.numbers if isinstance(read, Box) else read).append(-2)


def newer(before: list[int], after: list[int]) -> list[int]:
    return after


class All(AggregateFunction):
    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return accumulator

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b


def both_ways(build: Callable[[StreamExecutionEnvironment], Any]) -> list[Any]:
    whole, single = run(build), run(build, cuts=1, workers=["x", "y"])
    assert whole == single
    return whole


@pytest.mark.parametrize("ttl", [False, True])
@pytest.mark.parametrize("wrap", [plain, boxed])
def test_one_buffer_for_two_keys(wrap: Any, ttl: bool) -> None:
    found = both_ways(
        lambda env: (
            env.from_collection(RECORDS)
            .key_by(lambda pair: pair[0])
            .process(SharedBuffer(wrap, ttl))
        )
    )
    one = repr(wrap([1]))
    assert found[0] == (("a", 1), "(None, None, None, None)")
    assert found[2] == (("a", 3), f"({one}, {one}, [1], [[1]])")
    three = repr(wrap([3]))
    assert found[4] == (("a", 5), f"({three}, {three}, [3], [[1], [3]])")


class Lists(KeyedProcessFunction):
    """Yield the very object that was read from state, and the one that is put there."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.list = runtime_context.get_state(ValueStateDescriptor("list"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        held = self.list.value() or []
        held.append(value[1])
        self.list.update(held)
        yield held
        yield self.list.value()


def spoil(numbers: list[int]) -> list[int]:
    numbers.append(-1)
    return list(numbers)


def test_a_chained_map_that_changes_what_it_gets() -> None:
    found = both_ways(
        lambda env: (
            env.from_collection(RECORDS).key_by(lambda pair: pair[0]).process(Lists()).map(spoil)
        )
    )
    assert found[-1] == [1, 3, 5, -1]
    assert found[:4] == [[1, -1], [1, -1], [2, -1], [2, -1]]


def test_map_with_state_that_returns_its_state_as_result() -> None:
    def grow(pair: Any, held: list[int] | None) -> tuple[list[int], list[int]]:
        held = [*(held or []), pair[1]]
        return held, held

    found = both_ways(
        lambda env: (
            env.from_collection(RECORDS)
            .key_by(lambda pair: pair[0])
            .map_with_state(grow)
            .map(spoil)
        )
    )
    assert found == [[1, -1], [2, -1], [1, 3, -1], [2, 4, -1], [1, 3, 5, -1]]


class AddInPlace(ReduceFunction):
    def reduce(self, value1: list[int], value2: list[int]) -> list[int]:
        value1[1] += value2[1]
        return value1


def test_an_element_that_is_the_first_of_several_windows() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[0]
    )
    found = both_ways(
        lambda env: (
            env.from_collection([[n, 1] for n in range(0, 40, 5)])
            .assign_timestamps_and_watermarks(strategy)
            .key_by(lambda record: 0)
            .window(SlidingEventTimeWindows.of(Duration.of_millis(20), Duration.of_millis(10)))
            .reduce(AddInPlace())
            .map(lambda record: record[1])
        )
    )
    assert found == [2, 4, 4, 4, 2]
