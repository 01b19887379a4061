"""The harnesses that users get."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Time
from penstock.core.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.core.time import Watermark
from penstock.datastream import (
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import ConfigurationError, TypeMismatchError
from penstock.testing import (
    BroadcastHarness,
    OneInputHarness,
    Record,
    StreamHarness,
    TwoInputHarness,
)

SIDE = OutputTag("side")
RULES = MapStateDescriptor("rules")


class Double(MapFunction):
    def map(self, value: int) -> int:
        return value * 2


class Twice(FlatMapFunction):
    def flat_map(self, value: int) -> Iterator[int]:
        yield value
        yield value


class Odd(FilterFunction):
    def filter(self, value: int) -> bool:
        return value % 2 == 1


class Largest(ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return max(value1, value2)


class Later(AsyncFunction):
    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0)
        return [value + 100]


class Sides(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield value
        yield SIDE, -value


class Remember(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all"))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen"))

    def process_element(self, value: int, ctx: Any) -> None:
        self.last.update(value)
        self.all.add(value)
        self.seen.put(value, True)


@pytest.mark.parametrize(
    ("function", "key", "expected"),
    [
        (Double(), None, [2, 6, 4]),
        (Twice(), None, [1, 1, 3, 3, 2, 2]),
        (Odd(), None, [1, 3]),
        (Largest(), lambda value: 0, [1, 3, 3]),
        (Later(), None, [101, 103, 102]),
        (Sides(), None, [1, 3, 2]),
        (Sides(), lambda value: 0, [1, 3, 2]),
    ],
)
def test_functions_of_one_stream(function: Any, key: Any, expected: list[int]) -> None:
    harness = OneInputHarness(function, key, side_outputs=[SIDE])
    for timestamp, value in enumerate((1, 3, 2)):
        harness.process_element(value, timestamp)
    harness.cut()
    assert harness.take_records() == expected
    sides = [Record(-1, 0), Record(-3, 1), Record(-2, 2)] if isinstance(function, Sides) else []
    assert harness.take_side_output(SIDE) == sides


def test_looking_into_state() -> None:
    harness = OneInputHarness(Remember(), lambda value: value % 2)
    for value in (1, 2, 3):
        harness.process_element(value)
    assert harness.keyed_state(ValueStateDescriptor("last"), 1) == 3
    assert list(harness.keyed_state(ListStateDescriptor("all"), 1)) == [1, 3]
    assert harness.keyed_state(MapStateDescriptor("seen"), 0) == {2: True}
    assert harness.keyed_state(ValueStateDescriptor("last"), "none") is None


class Written(SinkFunction):
    values: list[int] = []  # noqa: RUF012

    def invoke(self, value: int, context: Any) -> None:
        Written.values.append(value)


def test_a_sink_function() -> None:
    Written.values = []
    harness = OneInputHarness(Written())
    harness.process_element(7)
    assert Written.values == [7]
    assert harness.take_output() == []


class Sign(CoMapFunction):
    def map1(self, value: int) -> int:
        return value

    def map2(self, value: int) -> int:
        return -value


class Signs(CoFlatMapFunction):
    def flat_map1(self, value: int) -> list[int]:
        return [value]

    def flat_map2(self, value: int) -> list[int]:
        return [-value, -value]


class Both(CoProcessFunction):
    def __init__(self) -> None:
        self.first: list[int] = []

    def process_element1(self, value: int, ctx: Any) -> None:
        self.first.append(value)

    def process_element2(self, value: int, ctx: Any) -> Iterator[Any]:
        yield sum(self.first), value


@pytest.mark.parametrize(
    ("function", "expected"),
    [(Sign(), [1, -2, 3]), (Signs(), [1, -2, -2, 3]), (Both(), [(1, 2)])],
)
@pytest.mark.parametrize("keys", [None, (str, str)])
def test_functions_of_two_streams(function: Any, keys: Any, expected: list[Any]) -> None:
    harness = TwoInputHarness(function, keys)
    harness.process_element(1)
    harness.move()
    harness.process_element2(2)
    harness.process_element(3)
    assert harness.take_records() == expected


class _Known:
    def process_element(self, value: str, ctx: Any) -> Iterator[str]:
        if value in ctx.get_broadcast_state(RULES):
            yield value

    def process_broadcast_element(self, value: str, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value, True)


class Known(_Known, BroadcastProcessFunction):
    pass


class KnownByKey(_Known, KeyedBroadcastProcessFunction):
    pass


@pytest.mark.parametrize(("function", "key"), [(Known(), None), (KnownByKey(), str)])
def test_broadcast_functions(function: Any, key: Any) -> None:
    harness = BroadcastHarness(function, [RULES], key)
    harness.process_element("a")
    harness.process_broadcast_element("a")
    harness.move()
    harness.process_element("a")
    assert harness.take_records() == ["a"]
    assert harness.broadcast_state(RULES) == {"a": True}


def test_time_is_moved_by_hand() -> None:
    class Wait(KeyedProcessFunction):
        def process_element(self, value: int, ctx: Any) -> None:
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + value)

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[int]:
            yield timestamp

    harness = OneInputHarness(Wait(), str, processing_time=1000)
    harness.process_element(50)
    assert harness.timer_count() == 1
    harness.advance_processing_time(49)
    assert harness.take_output() == []
    harness.advance_processing_time(1)
    assert harness.take_output() == [Record(1050, None)]


def test_what_the_function_raises_comes_out_as_it_is() -> None:
    class Broken(MapFunction):
        def map(self, value: int) -> int:
            return 1 // value

    with pytest.raises(ZeroDivisionError):
        OneInputHarness(Broken()).process_element(0)


def test_an_operator_as_a_program_writes_it() -> None:
    harness = StreamHarness(
        lambda pairs: (
            pairs.key_by(lambda pair: pair[0])
            .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
            .allowed_lateness(5)
            .sum(1)
        )
    )
    harness.process_elements([(("a", 1), 1), (("a", 2), 3)])
    harness.process_watermark(9)
    harness.process_element(("a", 4), 8)
    assert harness.take_output() == [Record(("a", 3), 9), Watermark(9), Record(("a", 7), 9)]


def test_an_operator_of_two_streams() -> None:
    harness = StreamHarness(
        lambda left, right: (
            left.key_by(lambda value: value % 3)
            .connect(right.key_by(lambda value: value % 3))
            .process(Both())
        )
    )
    harness.process_element(1)
    harness.process_element2(2)
    assert harness.take_records() == [(1, 2)]


def test_a_stream_that_no_operator_made() -> None:
    with pytest.raises(ConfigurationError) as error:
        StreamHarness(lambda stream: stream.key_by(str))
    assert str(error.value) == (
        "a harness needs a stream behind an operator\n"
        "  where: StreamHarness\n"
        "  to do: return for instance stream.key_by(...).reduce(...)"
    )


def test_a_function_for_another_harness() -> None:
    with pytest.raises(TypeMismatchError) as error:
        OneInputHarness(Sign())
    assert str(error.value).startswith("this harness needs one of: KeyedProcessFunction, ")
    with pytest.raises(TypeMismatchError, match="without a key selector needs one of: Broadcast"):
        BroadcastHarness(KnownByKey(), [RULES])
    with pytest.raises(ConfigurationError) as missing:
        OneInputHarness(Remember())
    assert str(missing.value) == (
        "a KeyedProcessFunction needs a key\n"
        "  where: harness\n"
        "  got:   no key selector\n"
        "  to do: pass key_selector=lambda record: ..., or one for each of two inputs"
    )
