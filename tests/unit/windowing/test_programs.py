"""Whole programs with windows and joins: replays, workers and cuts make no difference."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from unittest import mock

import pytest

from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.core.functions import AggregateFunction, ProcessJoinFunction, ProcessWindowFunction
from penstock.core.output_tag import OutputTag
from penstock.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.runtime.state import log
from tests.unit.properties.runs import make_cuts, run_plainly, run_with_trouble
from tests.unit.testing.recording import RecordingSink

LATE = OutputTag("late")


class Floats(AggregateFunction):
    """A sum of floats: any change in the order of additions shows in the last digits."""

    mergeable = True

    def create_accumulator(self):
        return 0.0

    def add(self, value, accumulator):
        return accumulator + value[1] / 7

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class Listing(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().end, [value for _, value in elements]


class Pair(ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        yield left[1], right[1], ctx.get_timestamp()


def with_late_data(keyed: KeyedStream) -> DataStream:
    windows = keyed.window(TumblingEventTimeWindows(10)).allowed_lateness(5)
    result = windows.side_output_late_data(LATE).process(Listing())
    return result.union(result.get_side_output(LATE).map(lambda value: ("late", 0, [value[1]])))


#: On one keyed stream.
SINGLE: dict[str, Callable[[KeyedStream], DataStream]] = {
    "tumbling": lambda keyed: keyed.window(TumblingEventTimeWindows(10)).aggregate(Floats()),
    "tumbling elements": with_late_data,
    "sliding": lambda keyed: keyed.window(SlidingEventTimeWindows(12, 4)).aggregate(Floats()),
    "sliced": lambda keyed: keyed.window(SlidingEventTimeWindows(50, 3)).aggregate(Floats()),
    "sliced late": lambda keyed: (
        keyed.window(SlidingEventTimeWindows(40, 4)).allowed_lateness(9).aggregate(Floats())
    ),
    "sliced elements": lambda keyed: keyed.window(SlidingEventTimeWindows(40, 4)).process(
        Listing()
    ),
    "session": lambda keyed: (
        keyed.window(EventTimeSessionWindows(4)).allowed_lateness(8).aggregate(Floats())
    ),
    "session elements": lambda keyed: keyed.window(EventTimeSessionWindows(4)).process(Listing()),
    "session by count": lambda keyed: (
        keyed.window(EventTimeSessionWindows(4)).trigger(CountTrigger(2)).process(Listing())
    ),
    "continuous": lambda keyed: (
        keyed.window(TumblingEventTimeWindows(20))
        .trigger(PurgingTrigger(ContinuousEventTimeTrigger(5)))
        .process(Listing())
    ),
    "evicted": lambda keyed: (
        keyed.window(TumblingEventTimeWindows(20)).evictor(CountEvictor(2)).process(Listing())
    ),
    "count": lambda keyed: keyed.count_window(3).reduce(lambda a, b: (a[0], a[1] + b[1])),
    "count sliding": lambda keyed: keyed.count_window(4, 2).reduce(
        lambda a, b: (a[0], a[1] + b[1])
    ),
}
#: Those that follow processing time, and so the cuts.
BY_PROCESSING_TIME: dict[str, Callable[[KeyedStream], DataStream]] = {
    "tumbling": lambda keyed: keyed.window(TumblingProcessingTimeWindows(30)).aggregate(Floats()),
    "sliced": lambda keyed: keyed.window(SlidingProcessingTimeWindows(100, 10)).aggregate(Floats()),
}
#: On two keyed streams.
DOUBLE: dict[str, Callable[[KeyedStream, KeyedStream], DataStream]] = {
    "window join": lambda left, right: (
        left.join(right)
        .where(lambda value: value[0])
        .equal_to(lambda value: value[0])
        .window(TumblingEventTimeWindows(10))
        .apply(lambda a, b: (a[1], b[1]))
    ),
    "sliding co-group": lambda left, right: (
        left.co_group(right)
        .where(lambda value: value[0])
        .equal_to(lambda value: value[0])
        .window(SlidingEventTimeWindows(40, 4))
        .apply(lambda a, b: [(sorted(v for _, v in a), sorted(v for _, v in b))])
    ),
    "interval join": lambda left, right: left.interval_join(right).between(-4, 6).process(Pair()),
}


def build(program: Any, seed: int, inputs: int, disorder: int, parallelism: int) -> Any:
    """Return a plan over random records, and its sink."""
    rng = random.Random(seed)
    configuration = Configuration()
    configuration.set_string("penstock.watermark.records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    streams = []
    for _ in range(inputs):
        times = sorted(rng.randint(0, 100) for _ in range(40))
        records = [
            (rng.randint(0, 3), number, time + rng.randint(-disorder, disorder))
            for number, time in enumerate(times)
        ]
        streams.append(env.from_collection(records))
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(3))
    strategy = strategy.with_timestamp_assigner(lambda record, _: record[2])
    keyed = [
        stream.assign_timestamps_and_watermarks(strategy)
        .set_parallelism(1)
        .map(lambda record: (record[0], record[1]))
        .set_parallelism(1)
        .key_by(lambda record: record[0])
        for stream in streams
    ]
    sink = RecordingSink()
    program(*keyed).sink_to(sink)
    return build_plan(env), sink


def seeds(backend: str) -> range:
    """Return what programs are run with: less on disk, where each task opens a store of its own."""
    return range(1, 2) if backend == "rocksdb" else range(3)


@pytest.mark.parametrize("name", SINGLE)
def test_cuts_and_trouble_on_one_channel(name: str, backend: str) -> None:
    for seed in seeds(backend):
        plan, whole = build(SINGLE[name], seed, 1, disorder=8, parallelism=2)
        run_plainly(plan, None)
        plan, cut = build(SINGLE[name], seed, 1, disorder=8, parallelism=2)
        state = run_plainly(plan, make_cuts(seed))
        plan, troubled = build(SINGLE[name], seed, 1, disorder=8, parallelism=2)
        sizes = {
        "_MIN_LOG_BYTES": 500, "_MERGED": 3, "_TAIL_BYTES": 100, "_MIN_SWEEP_BYTES": 1,
        "_SWEEP_STEP": 1,
    }  # fmt: skip
        with mock.patch.multiple(log, **sizes) if seed else nullcontext():
            troubled_state = run_with_trouble(plan, make_cuts(seed), random.Random(seed))
        assert whole.values()
        assert cut.by_subtask() == whole.by_subtask()
        assert troubled.by_subtask() == cut.by_subtask()
        assert troubled_state == state


@pytest.mark.parametrize("name", BY_PROCESSING_TIME)
def test_replays_in_processing_time(name: str, backend: str) -> None:
    for seed in seeds(backend):
        plan, cut = build(BY_PROCESSING_TIME[name], seed, 1, disorder=0, parallelism=2)
        state = run_plainly(plan, make_cuts(seed))
        plan, troubled = build(BY_PROCESSING_TIME[name], seed, 1, disorder=0, parallelism=2)
        troubled_state = run_with_trouble(plan, make_cuts(seed), random.Random(seed))
        assert cut.values()
        assert troubled.by_subtask() == cut.by_subtask()
        assert troubled_state == state


@pytest.mark.parametrize("name", DOUBLE)
def test_cuts_and_trouble_on_two_channels(name: str, backend: str) -> None:
    for seed in seeds(backend):
        plan, whole = build(DOUBLE[name], seed, 2, disorder=0, parallelism=2)
        run_plainly(plan, None)
        plan, cut = build(DOUBLE[name], seed, 2, disorder=0, parallelism=2)
        state = run_plainly(plan, make_cuts(seed))
        plan, troubled = build(DOUBLE[name], seed, 2, disorder=0, parallelism=2)
        troubled_state = run_with_trouble(plan, make_cuts(seed), random.Random(seed))
        assert whole.values()
        assert sorted(cut.values()) == sorted(whole.values())
        assert troubled.by_subtask() == cut.by_subtask()
        assert troubled_state == state
