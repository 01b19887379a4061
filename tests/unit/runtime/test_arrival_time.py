"""Records that were received while a batch ran long keep the processing time of their arrival."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Time, Types
from penstock.connectors.collection import CollectionSource
from penstock.core.io import SourceBatch, SplitRange
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import (
    BroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeContext,
)
from penstock.datastream.state import MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from penstock.datastream.stream_execution_environment import build_plan
from penstock.datastream.window import ProcessingTimeSessionWindows, TumblingProcessingTimeWindows
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink


class Arrivals(CollectionSource):
    """Elements `(value, time of arrival)`, as a receiver's log has them."""

    receives = True

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        for batch in super().read(split_range):
            for time, group in groupby(batch.values, lambda element: element[1]):
                yield SourceBatch([value for value, _ in group], time=time)


class Clock:
    now = 1000

    def __call__(self) -> int:
        return self.now


Build = Callable[[StreamExecutionEnvironment, DataStream], DataStream]


def run(
    build: Build, elements: list[Any], folder: Path, until: int = 9000, parallelism: int = 2,
    cuts: int | None = None, workers: tuple[str, ...] = ("a",),
) -> list[Any]:  # fmt: skip
    """Run a job whose second batch begins at `until`: by then all elements have arrived."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    sink, clock = RecordingSink(), Clock()
    build(env, env.from_source(Arrivals(elements), None, "arrivals")).sink_to(sink)
    job = LocalJob(build_plan(env), folder, clock=clock, cuts=cuts)
    clock.now = until
    job.run(workers)
    return sink.values()


class Now(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, ctx.timer_service().current_processing_time()


class Alarm(KeyedProcessFunction):
    """Tell the time of each record, and 1000 ms later that the timer has fired."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 1000)
        yield value, timers.current_processing_time()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield "timer", timestamp


ELEMENTS = [("a", 2000), ("b", 2000), ("a", 2300), ("a", 5000), ("c", 5100)]


@pytest.mark.parametrize("workers", [("a",), ("a", "b")])
def test_each_operator_sees_the_time_of_arrival(workers: tuple[str, ...], tmp_path: Path) -> None:
    def build(env: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
        first = stream.process(Now())
        second = first.key_by(lambda pair: pair[0]).process(Now()).rebalance()
        return second.process(Now())

    found = run(build, ELEMENTS, tmp_path, workers=workers)
    assert sorted(found) == sorted((((v, t), t), t) for v, t in ELEMENTS)


def test_timers_fire_between_the_records(tmp_path: Path) -> None:
    found = run(
        lambda env, stream: stream.key_by(lambda value: 0).process(Alarm()), ELEMENTS, tmp_path
    )
    assert found == [
        ("a", 2000), ("b", 2000), ("a", 2300), ("timer", 3000), ("timer", 3300),
        ("a", 5000), ("c", 5100), ("timer", 6000), ("timer", 6100),
    ]  # fmt: skip


def test_sessions_and_windows_of_processing_time(tmp_path: Path) -> None:
    def listed(key: Any, window: Any, values: Iterable[Any]) -> Iterable[Any]:
        yield window.start, window.end, list(values)

    elements = [*ELEMENTS, ("d", 9000)]
    for name, assigner, expected in (
        (
            "session",
            ProcessingTimeSessionWindows(1000),
            [(2000, 3300, ["a", "b", "a"]), (5000, 6100, ["a", "c"])],
        ),
        (
            "tumbling",
            TumblingProcessingTimeWindows(1000),
            [(2000, 3000, ["a", "b", "a"]), (5000, 6000, ["a", "c"])],
        ),
    ):
        folder = tmp_path / name
        folder.mkdir()
        found = run(
            lambda env, stream: stream.key_by(lambda v: 0).window(assigner).apply(listed),  # noqa: B023
            elements, folder,
        )  # fmt: skip
        assert found == expected, name


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("count", Types.INT())
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(2000)).build())
        self.count = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


def test_state_expires_between_the_records(tmp_path: Path) -> None:
    found = run(
        lambda env, stream: stream.key_by(lambda value: 0).process(Counting()), ELEMENTS, tmp_path
    )
    assert found == [("a", 1), ("b", 2), ("a", 3), ("a", 1), ("c", 2)]


RULES = MapStateDescriptor("rules", Types.STRING(), Types.STRING())


class Rules(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        rule = ctx.get_broadcast_state(RULES).get("rule")
        yield value, rule, ctx.current_processing_time()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(RULES).put("rule", value)
        return []


def test_what_is_broadcast_is_there_before_the_first_record(tmp_path: Path) -> None:
    def build(env: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
        rules = env.from_collection(["rule"]).broadcast(RULES)
        return stream.connect(rules).process(Rules())

    found = run(build, ELEMENTS, tmp_path)
    assert sorted(found) == sorted((value, "rule", time) for value, time in ELEMENTS)


def test_inputs_are_taken_in_the_order_of_arrival(tmp_path: Path) -> None:
    def build(env: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
        other = env.from_source(Arrivals([("x", 2100), ("y", 5050), ("z", 9500)]), None, "others")
        return stream.union(other).key_by(lambda value: 0).process(Now())

    found = run(build, ELEMENTS, tmp_path)
    # What claims to have come later than the batch began has the batch's time.
    expected = [*ELEMENTS, ("x", 2100), ("y", 5050), ("z", 9000)]
    assert found == sorted(expected, key=lambda element: element[1])


def test_time_does_not_fall_behind_that_of_the_batch_before(tmp_path: Path) -> None:
    found = run(
        lambda env, stream: stream.process(Now()), ELEMENTS, tmp_path, parallelism=1, cuts=3
    )
    assert found == [("a", 2000), ("b", 2000), ("a", 2300), ("a", 9000), ("c", 9000)]
