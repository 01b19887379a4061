"""Whole jobs on hand-made plans: what goes in, what comes out, batch by batch."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.core.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    ProcessFunction,
    RuntimeContext,
)
from penstock.core.output_tag import OutputTag
from penstock.core.state import MapStateDescriptor
from penstock.core.time import MIN_WATERMARK
from penstock.graph.specs import (
    Broadcast,
    CoFlatMapSpec,
    CoMapSpec,
    CoProcessSpec,
    FilterSpec,
    FlatMapSpec,
    FoldSpec,
    Hash,
    KeyedCoProcessSpec,
    MapSpec,
    ProcessSpec,
    Rebalance,
    ReduceSpec,
    TimestampsSpec,
)
from tests.unit.runtime.plans import Input, Planner
from tests.unit.runtime.runner import Runner, batch

pytestmark = pytest.mark.usefixtures("backend")

EVENT_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda value, timestamp: value[1]
)


def first(pair: Any) -> Any:
    return pair[0]


def word_count(parallelism: int = 2, batch_mode: bool = False) -> Runner:
    plan = Planner(parallelism)
    lines = plan.source(parallelism=parallelism)
    words = plan.add(FlatMapSpec(str.split), lines)
    long = plan.add(FilterSpec(lambda word: word != "a"), words)
    pairs = plan.add(MapSpec(lambda word: (word, 1)), long)
    counts = plan.keyed(ReduceSpec(lambda a, b: (a[0], a[1] + b[1])), pairs, first)
    plan.sink(counts)
    return Runner(plan.build(batch_mode=batch_mode))


def test_word_count_over_two_slots_and_three_batches() -> None:
    job = word_count()
    job.run({0: {0: ["to be or", "not to be"], 1: ["a rose is"]}})
    job.run({0: {1: ["a rose to be"]}})
    job.run(ended=True)
    last = dict(sorted(job.values(), key=lambda pair: pair[1]))
    assert last == {"to": 3, "be": 3, "or": 1, "not": 1, "rose": 2, "is": 1}
    assert len(job.values()) == 11, "every record gives the updated result of its key"
    assert {subtask for subtask, _, _ in job.written["sink"]} == {0, 1}


def test_in_batch_mode_each_key_gives_its_last_result_when_the_input_ends() -> None:
    job = word_count(batch_mode=True)
    job.run({0: {0: ["to be or", "not to be"]}})
    assert job.values() == []
    job.run(ended=True)
    assert sorted(job.values()) == [("be", 2), ("not", 1), ("or", 1), ("to", 2)]
    job.run()
    assert len(job.values()) == 4


def test_results_of_batch_mode_come_in_one_order_whatever_the_workers_did() -> None:
    text = " ".join(f"w{i % 40}" for i in range(90))
    runs = []
    for workers in (["x"] * 4, ["x", "y", "x", "z"]):
        job = word_count(parallelism=1, batch_mode=True)
        for number, worker in enumerate(workers[:3]):
            job.run({0: [text[number * 100 : number * 100 + 100]]}, worker=worker)
        job.run(ended=True, worker=workers[3])
        runs.append(job.values())
    assert runs[0] == runs[1]


class Watching(ProcessFunction):
    """Pass records on together with the watermark that they meet."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, ctx.timer_service().current_watermark()


def test_results_of_batch_mode_stand_in_front_of_the_last_watermark() -> None:
    plan = Planner()
    source = plan.source()
    total = plan.keyed(ReduceSpec(lambda a, b: a + b), source, lambda value: 0)
    plan.sink(plan.add(ProcessSpec(Watching()), total))
    job = Runner(plan.build(batch_mode=True))
    job.run({0: [1, 2, 3]}, ended=True)
    assert job.values() == [(6, MIN_WATERMARK)]


def test_fold_starts_from_a_value_of_its_own_for_every_key() -> None:
    def collect(held: list[Any], pair: Any) -> list[Any]:
        held.append(pair[1])
        return held

    plan = Planner()
    source = plan.source()
    plan.sink(plan.keyed(FoldSpec([], collect), source, first))
    job = Runner(plan.build())
    job.run({0: [("a", 1), ("b", 2), ("a", 3)]})
    job.run({0: [("b", 4)]})
    assert job.values() == [[1], [2], [1, 3], [2, 4]]


def test_a_result_may_be_none() -> None:
    plan = Planner()
    source = plan.source()
    plan.sink(plan.keyed(ReduceSpec(lambda a, b: None if b == 0 else b), source, lambda value: 0))
    job = Runner(plan.build())
    for value in (1, 0, 5):
        job.run({0: [value]})
    assert job.values() == [1, None, 5]


EVEN, ODD = OutputTag("even"), OutputTag("odd")


class Splitter(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        if value % 2:
            ctx.output(ODD, value)
        else:
            yield EVEN, value
        yield OutputTag("nobody listens"), value
        yield ("not a tag", value)


def test_side_outputs() -> None:
    plan = Planner()
    source = plan.source()
    split = plan.add(ProcessSpec(Splitter()), source)
    plan.sink(split, name="main")
    plan.sink(Input(split, tag="even"), name="even")
    plan.sink(Input(split, Rebalance(), tag="odd"), name="odd", parallelism=2)
    job = Runner(plan.build())
    job.run({0: batch([1, 2, 3], [10, 20, 30])}, ended=True)
    assert job.written == {
        "main": [(0, ("not a tag", n), 10 * n) for n in (1, 2, 3)],
        "even": [(0, 2, 20)],
        "odd": [(0, 1, 10), (1, 3, 30)],
    }


def test_a_union_takes_records_of_all_and_waits_for_the_slowest() -> None:
    plan = Planner()
    sources = [plan.source(name) for name in "ab"]
    stamped = [plan.add(TimestampsSpec(EVENT_TIME), source) for source in sources]
    joined = plan.add(ProcessSpec(Watching()), *stamped)
    plan.sink(joined)
    job = Runner(plan.build())
    job.run({0: [("a", 10)], 1: [("b", 5)]})
    job.run({0: [("a", 20)]})
    job.run({0: [("a", 30)], 1: [("b", 7)]})
    job.run({0: [("a", 40)]}, ended=[1])
    job.run({0: [("a", 50)]}, ended=True)
    marks = dict(job.values())
    assert marks == {
        ("a", 10): MIN_WATERMARK, ("b", 5): MIN_WATERMARK, ("a", 20): 4, ("a", 30): 4, ("b", 7): 4,
        ("a", 40): 6, ("a", 50): 39,
    }  # fmt: skip


def test_a_stream_united_with_itself_gives_everything_twice() -> None:
    plan = Planner()
    source = plan.source()
    plan.sink(plan.add(MapSpec(lambda value: value + 1), source, source))
    job = Runner(plan.build())
    job.run({0: [1, 2]}, ended=True)
    assert Counter(job.values()) == {2: 2, 3: 2}


class Tagging(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return ("first", value) if value else None

    def map2(self, value: Any) -> Any:
        return "second", value


class Doubling(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterable[Any]:
        yield value
        yield value

    def flat_map2(self, value: Any) -> None:
        return None


def test_connected_streams() -> None:
    plan = Planner()
    one, two = plan.source("one"), plan.source("two")
    plan.sink(plan.add(CoMapSpec(Tagging()), Input(one), Input(two, index=1)), name="map")
    plan.sink(plan.add(CoFlatMapSpec(Doubling()), Input(one), Input(two, index=1)), name="flat")
    job = Runner(plan.build())
    job.run({0: [0, 1], 1: ["x"]})
    assert sorted(job.values("map")) == [("first", 1), ("second", "x")]
    assert job.values("flat") == [0, 0, 1, 1]


def test_a_connected_stream_may_stand_in_one_task_with_both_its_inputs() -> None:
    plan = Planner()
    source = plan.source()
    even = plan.add(FilterSpec(lambda n: n % 2 == 0), source)
    odd = plan.add(FilterSpec(lambda n: n % 2), source)
    plan.sink(plan.add(CoMapSpec(Tagging()), Input(even), Input(odd, index=1)))
    job = Runner(plan.build())
    assert job.plan.levels == 0
    job.run({0: [1, 2, 3]}, ended=True)
    assert job.values() == [("second", 1), ("first", 2), ("second", 3)]


class Matching(KeyedCoProcessFunction):
    """Pair the records of both sides that have the same key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting"))

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._meet(0, value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._meet(1, value, ctx)

    def _meet(self, side: int, value: Any, ctx: Any) -> Iterable[Any]:
        other = self.waiting.get(1 - side)
        self.waiting.put(side, value)
        if other is not None:
            yield ctx.get_current_key(), value, other


def test_two_keyed_streams_share_the_state_of_a_key() -> None:
    plan = Planner(parallelism=2)
    one, two = plan.source("one"), plan.source("two")
    inputs = Input(one, Hash(first)), Input(two, Hash(first), index=1)
    plan.sink(plan.add(KeyedCoProcessSpec(Matching()), *inputs))
    job = Runner(plan.build())
    job.run({0: [("a", 1), ("b", 2)]}, worker="x")
    job.run({1: [("b", "two"), ("c", "three")]}, worker="y")
    job.run({0: [("c", 3)]}, worker="x")
    assert job.values() == [("b", ("b", "two"), ("b", 2)), ("c", ("c", 3), ("c", "three"))]


def test_an_order_map_in_a_plain_attribute_survives_batches_and_workers() -> None:
    class Orders(CoProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.orders: dict[Any, Any] = {}

        def process_element1(self, value: Any, ctx: Any) -> None:
            self.orders[value[0]] = value[1]

        def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
            yield value, self.orders.get(value)

    plan = Planner()
    orders, asked = plan.source("orders"), plan.source("asked")
    plan.sink(plan.add(CoProcessSpec(Orders()), Input(orders), Input(asked, index=1)))
    job = Runner(plan.build())
    job.run({0: [("a", 1)]}, worker="x")
    job.run({0: [("b", 2)], 1: ["a"]}, worker="y")
    job.run({1: ["b", "a"]}, worker="z")
    job.run({1: ["b"]}, worker="x")
    assert job.values() == [("a", 1), ("b", 2), ("a", 1), ("b", 2)]


def test_takers_of_one_stream_get_objects_of_their_own() -> None:
    def spoil(value: list[Any]) -> list[Any]:
        value.append("spoiled")
        return value

    plan = Planner()
    source = plan.source()
    lists = plan.add(MapSpec(lambda value: [value]), source)
    plan.sink(plan.add(MapSpec(spoil), lists), name="one")
    plan.sink(plan.add(MapSpec(spoil), lists), name="two")
    plan.sink(Input(lists, Rebalance()), name="three")
    job = Runner(plan.build())
    job.run({0: [1]})
    assert job.values("one") == job.values("two") == [[1, "spoiled"]]
    assert job.values("three") == [[1]]


def test_what_a_rolling_operation_sends_on_is_not_its_state() -> None:
    def append(held: list[int], new: list[int]) -> list[int]:
        held.extend(new)
        return held

    def clear(value: list[int]) -> list[int]:
        copy = list(value)
        value.clear()
        return copy

    plan = Planner()
    source = plan.source()
    joined = plan.keyed(ReduceSpec(append), source, len)
    plan.sink(plan.add(MapSpec(clear), joined))
    job = Runner(plan.build())
    job.run({0: [[1], [2]]})
    job.run({0: [[3]]})
    assert job.values() == [[1], [1, 2], [1, 2, 3]]


def test_the_broadcast_side_comes_first_in_a_batch() -> None:
    class Rules(CoMapFunction):
        def __init__(self) -> None:
            self.rules: list[Any] = []

        def map1(self, value: Any) -> Any:
            return value, tuple(self.rules)

        def map2(self, value: Any) -> None:
            self.rules.append(value)

    plan = Planner(parallelism=2)
    data, rules = plan.source("data", parallelism=2), plan.source("rules")
    plan.sink(plan.add(CoMapSpec(Rules()), Input(data), Input(rules, Broadcast(), index=1)))
    job = Runner(plan.build())
    job.run({0: {0: ["a"], 1: ["b"]}, 1: [1, 2]}, shuffle=random.Random(1).shuffle)
    assert job.values() == [("a", (1, 2)), ("b", (1, 2))]


def test_chunks_of_a_slot_are_worked_through_in_one_order_however_they_arrive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.runtime.exchange.ENVELOPE_RECORDS", 2)
    runs = []
    for seed in range(5):
        plan = Planner()
        sources = [plan.source(name, parallelism=2) for name in "ab"]
        merged = plan.add(MapSpec(lambda v: v), *(Input(s, Rebalance()) for s in sources))
        plan.sink(merged)
        job = Runner(plan.build())
        reads = {s: {i: [f"{s}{i}{n}" for n in range(5)] for i in (0, 1)} for s in sources}
        job.run(reads, shuffle=random.Random(seed).shuffle)
        runs.append(job.values())
    assert all(run == runs[0] for run in runs)
    assert runs[0][:4] == ["000", "001", "010", "011"]
