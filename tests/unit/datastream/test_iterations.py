"""Iterations: what is sent back comes again, each record once, until nothing is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Time, WatermarkStrategy
from penstock.datastream import DataStream, IterativeStream, StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction, ProcessAllWindowFunction
from penstock.datastream.stream_execution_environment import build_plan
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import GraphError
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink


class Clock:
    now = 1000

    def __call__(self) -> int:
        return self.now


def environment(parallelism: int = 1) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


def countdown(env: StreamExecutionEnvironment, sink: RecordingSink, wait: Any = 0) -> None:
    """Take one off each number until it is zero; write each number that comes by."""
    iteration = env.from_collection([3, 1, 4]).iterate(wait)
    less = iteration.map(lambda number: number - 1)
    iteration.close_with(less.filter(lambda number: number > 0))
    less.sink_to(sink)


@pytest.mark.parametrize("cuts", [None, 1])
@pytest.mark.parametrize("parallelism", [1, 3])
def test_records_go_round_until_none_comes_back(
    parallelism: int, cuts: int | None, tmp_path: Path
) -> None:
    env, sink = environment(parallelism), RecordingSink()
    countdown(env, sink)
    LocalJob(build_plan(env), tmp_path, cuts=cuts).run()
    assert sorted(sink.values()) == [0, 0, 0, 1, 1, 2, 2, 3]


def test_each_comes_back_once_whatever_is_run_again(tmp_path: Path) -> None:
    env, sink = environment(2), RecordingSink()
    countdown(env, sink)
    plan = build_plan(env)
    job = LocalJob(plan, tmp_path)
    while True:
        if not job.ask():
            break
        job.attempt("a")
        job = LocalJob(plan, tmp_path)  # the process dies before the batch is logged
        job.attempt("b")
        job.attempt("c")
        job.log_commit()
        job = LocalJob(plan, tmp_path)  # and behind it
        if job.coordinator.finished.is_set():
            break
    job.run()
    assert sorted(sink.values()) == [0, 0, 0, 1, 1, 2, 2, 3]


def test_the_head_waits_for_what_may_come_back(tmp_path: Path) -> None:
    env, sink, clock = environment(), RecordingSink(), Clock()
    countdown(env, sink, Time.seconds(5))
    job = LocalJob(build_plan(env), tmp_path, clock=clock, poll_ms=0)
    job.run_while_there_is_input()
    assert sorted(sink.values()) == [0, 0, 0, 1, 1, 2, 2, 3]
    clock.now += 4999
    assert job.step() is None
    assert not job.coordinator.finished.is_set()
    clock.now += 1
    assert job.step() is not None
    job.run()


class Timers(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(value[1] + 1)
        return []

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp


class Count(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Any) -> Any:
        yield context.window().start, sum(1 for _ in elements)


def test_what_comes_back_holds_no_watermark_back(tmp_path: Path) -> None:
    env, sink = environment(2), RecordingSink()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda pair, _: pair[1]
    )
    stream = env.from_collection([("a", 5), ("b", 25), ("a", 45)])
    iteration = stream.assign_timestamps_and_watermarks(strategy).iterate()
    fired = iteration.key_by(lambda pair: pair[0]).process(Timers())
    iteration.close_with(fired.filter(lambda pair: False))
    fired.window_all(TumblingEventTimeWindows(20)).process(Count()).sink_to(sink)
    job = LocalJob(build_plan(env), tmp_path, cuts=1)
    for _ in range(5):
        job.step()
    assert (0, 1) in sink.values(), "before the end of the input"
    job.run()
    assert sorted(sink.values()) == [(0, 1), (20, 1), (40, 1)]


def test_an_iteration_must_be_closed_with_a_stream_of_its_own() -> None:
    env = environment()
    iteration = env.from_collection([1]).iterate()
    assert isinstance(iteration, IterativeStream)
    iteration.map(lambda n: n).print()
    with pytest.raises(GraphError) as caught:
        build_plan(env)
    assert caught.value.what == "an iteration sends nothing back"
    stream: DataStream = env.from_collection([1]).map(lambda n: n)
    assert iteration.close_with(iteration.map(lambda n: n)) is not None
    with pytest.raises(GraphError) as caught:
        iteration.close_with(stream)
    assert caught.value.what == "an iteration is closed once"
    env = environment()
    env.from_collection([1]).iterate().close_with(env.from_collection([2]))
    with pytest.raises(GraphError) as caught:
        build_plan(env)
    assert caught.value.what == "an iteration is closed with a stream that is not part of it"
