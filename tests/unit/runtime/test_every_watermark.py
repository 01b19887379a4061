"""Each watermark counts: what it makes due fires while it is the current one, whatever the path."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.collection import CollectionSource
from penstock.core.time import MAX_WATERMARK, MIN_WATERMARK, Watermark
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction, ProcessWindowFunction
from penstock.datastream.stream_execution_environment import build_plan
from penstock.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from penstock.testing.local_executor import LocalJob
from penstock.testing.marked_source import MarkedSource
from tests.unit.testing.recording import RecordingSink

KEYS = "abcdefgh"
#: Records, then watermarks with nothing between them, then a record of one key, and more of both.
EVENTS: list[Any] = [
    *(((key, 10 * i), 10 * i) for i, key in enumerate(KEYS)),
    *(Watermark(time) for time in (3, 15, 16, 44, 59)),
    (("a", 100), 100),
    *(Watermark(time) for time in (61, 99, 110, 112, 300)),
]
MARKS = [event.timestamp for event in EVENTS if isinstance(event, Watermark)] + [MAX_WATERMARK]
RECORDS = [event[0] for event in EVENTS if not isinstance(event, Watermark)]


def at(due: int) -> int:
    """Return the watermark that makes a time due."""
    return min(mark for mark in MARKS if mark >= due)


class Timers(KeyedProcessFunction):
    """Tell the watermark at which a timer fires, 5 ms behind its record."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(value[1] + 5)
        return []

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark()


class Behind(KeyedProcessFunction):
    """Stand behind `Timers`: set a timer for the time of what it sent."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        return []

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark()


class Seen(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield key, context.window().end, context.current_watermark()


def run(
    build: Callable[[StreamExecutionEnvironment], DataStream],
    folder: Path, parallelism: int, cuts: int | None = None, **settings: Any,
) -> list[Any]:  # fmt: skip
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    sink = RecordingSink()
    build(env).sink_to(sink)
    LocalJob(build_plan(env), folder, cuts=cuts, **settings).run()
    return sorted(sink.values())


def events(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_source(MarkedSource(EVENTS), None, "events")


def key_of(record: Any) -> Any:
    return record[0]


@pytest.mark.parametrize("cuts", [None, 1, 3])
@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_a_timer_sees_the_watermark_that_makes_it_due(
    parallelism: int, cuts: int | None, tmp_path: Path
) -> None:
    found = run(
        lambda env: events(env).key_by(key_of).process(Timers()), tmp_path, parallelism, cuts
    )
    assert found == sorted((key, time + 5, at(time + 5)) for key, time in RECORDS)


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_so_does_one_behind_two_exchanges(parallelism: int, tmp_path: Path) -> None:
    found = run(
        lambda env: events(env).rebalance().map(lambda v: v).key_by(key_of).process(Timers())
        .map(lambda v: v).key_by(key_of).process(Behind()),
        tmp_path, parallelism,
    )  # fmt: skip
    assert found == sorted((key, time + 15, at(time + 15)) for key, time in RECORDS)


def test_side_by_side_paths_of_one_stream_see_the_same(tmp_path: Path) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        stream = events(env)
        left, right = (stream.filter(lambda v, odd=odd: ord(v[0]) % 2 == odd) for odd in (0, 1))
        return left.union(right.shuffle()).key_by(key_of).process(Timers())

    found = run(build, tmp_path, 2)
    assert found == sorted((key, time + 5, at(time + 5)) for key, time in RECORDS)


def test_the_slower_of_two_inputs_decides_and_each_of_its_watermarks_counts(tmp_path: Path) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        fast = env.from_source(MarkedSource([Watermark(1000)]), None, "fast")
        return fast.union(events(env)).key_by(key_of).process(Timers())

    found = run(build, tmp_path, 2)
    assert found == sorted((key, time + 5, at(time + 5)) for key, time in RECORDS)


WINDOWS: list[tuple[WindowAssigner[Any, Any], Callable[[int], list[int]]]] = [
    (TumblingEventTimeWindows(20), lambda time: [time // 20 * 20 + 20]),
    (SlidingEventTimeWindows(40, 20), lambda time: [time // 20 * 20 + 20, time // 20 * 20 + 40]),
    (SlidingEventTimeWindows(80, 5), lambda time: list(range(time // 5 * 5 + 5, time + 81, 5))),
    (EventTimeSessionWindows(7), lambda time: [time + 7]),
]


@pytest.mark.parametrize("reduced", [True, False], ids=["reduced", "listed"])
@pytest.mark.parametrize(("assigner", "ends"), WINDOWS, ids=[repr(each[0]) for each in WINDOWS])
def test_a_window_sees_the_watermark_that_makes_it_due(
    assigner: Any, ends: Callable[[int], list[int]], reduced: bool, tmp_path: Path
) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        windowed = events(env).key_by(key_of).window(assigner)
        return windowed.reduce(lambda a, b: a, Seen()) if reduced else windowed.process(Seen())

    found = run(build, tmp_path, 2)
    assert found == sorted((k, end, at(end - 1)) for k, time in RECORDS for end in ends(time))


def test_so_does_one_whose_trigger_is_given(tmp_path: Path) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        windowed = events(env).key_by(key_of).window(TumblingEventTimeWindows(20))
        return windowed.trigger(EventTimeTrigger.create()).allowed_lateness(30).process(Seen())

    found = run(build, tmp_path, 2)
    assert found == sorted((k, t // 20 * 20 + 20, at(t // 20 * 20 + 19)) for k, t in RECORDS)


def test_records_see_the_watermark_that_they_stand_behind(tmp_path: Path) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        windowed = events(env).key_by(key_of).window(TumblingEventTimeWindows(1000))
        return windowed.trigger(CountTrigger.of(1)).process(Seen())

    seen = [watermark for _, _, watermark in run(build, tmp_path, 2)]
    assert sorted(seen) == [MIN_WATERMARK] * len(KEYS) + [59]


def key_time(record: Any, timestamp: int) -> int:
    return record[1]


def test_a_small_bounded_input_sees_the_last_watermark_only(tmp_path: Path) -> None:
    """As in Flink: a periodic generator was never asked before the input ended."""
    from_source = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(key_time)

    def stamped(env: StreamExecutionEnvironment) -> DataStream:
        source = CollectionSource(RECORDS)
        return env.from_source(source, from_source, "records").key_by(key_of).process(Timers())

    def assigned(env: StreamExecutionEnvironment) -> DataStream:
        stream = env.from_collection(RECORDS).assign_timestamps_and_watermarks(from_source)
        return stream.key_by(key_of).process(Timers())

    for build in (stamped, assigned):
        folder = tmp_path / build.__name__
        folder.mkdir()
        assert {mark for *_, mark in run(build, folder, 2)} == {MAX_WATERMARK}
