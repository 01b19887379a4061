"""Timers as functions set them: once for a key and time, in order, never early, never lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from penstock.core.state import ValueStateDescriptor
from penstock.datastream import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    TimeDomain,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import ProgramError
from penstock.testing import ManualClock, OneInputHarness, TwoInputHarness
from penstock.testing.local_executor import LocalJob
from tests.unit.process.jobs import run
from tests.unit.testing.recording import Forever, RecordingSink

EVENT, PROCESSING = TimeDomain.EVENT_TIME, TimeDomain.PROCESSING_TIME
domains = pytest.mark.parametrize("domain", [EVENT, PROCESSING], ids=lambda d: d.name)


class Setting(KeyedProcessFunction):
    """Records are (key, command, time): set a timer or take it back."""

    def __init__(self, domain: TimeDomain) -> None:
        self.domain = domain

    def process_element(self, value: tuple[str, str, int], ctx: Any) -> None:
        self.do(ctx.timer_service(), *value[1:])

    def do(self, timers: Any, command: str, at: int) -> None:
        name = "event_time" if self.domain is EVENT else "processing_time"
        getattr(timers, f"{command}_{name}_timer")(at)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        assert ctx.time_domain() is self.domain
        assert ctx.timestamp() == timestamp
        yield ctx.get_current_key(), timestamp


def harness_of(function: KeyedProcessFunction) -> OneInputHarness:
    return OneInputHarness(function, lambda record: record[0])


def reach(harness: OneInputHarness, domain: TimeDomain, at: int) -> list[Any]:
    if domain is EVENT:
        harness.process_watermark(at)
    else:
        harness.set_processing_time(at)
    return harness.take_records()


@domains
def test_a_timer_fires_once_at_its_time(domain: TimeDomain) -> None:
    harness = harness_of(Setting(domain))
    for key in "aba":
        harness.process_element((key, "register", 10))
    assert reach(harness, domain, 9) == []
    assert reach(harness, domain, 10) == [("a", 10), ("b", 10)]
    assert reach(harness, domain, 100) == []


@domains
def test_timers_fire_in_the_order_of_their_times(domain: TimeDomain) -> None:
    harness = harness_of(Setting(domain))
    for at in (30, 10, 20, 40):
        harness.process_element(("k", "register", at))
    harness.move()
    assert reach(harness, domain, 35) == [("k", 10), ("k", 20), ("k", 30)]


@domains
def test_a_timer_can_be_taken_back_and_set_again(domain: TimeDomain) -> None:
    harness = harness_of(Setting(domain))
    harness.process_element(("a", "register", 10))
    harness.process_element(("b", "register", 10))
    harness.process_element(("a", "delete", 10))
    harness.process_element(("a", "delete", 11))  # none: no harm
    harness.move()
    harness.process_element(("b", "delete", 10))
    harness.process_element(("b", "register", 10))
    assert reach(harness, domain, 10) == [("b", 10)]


class Chain(Setting):
    """Set another timer from each one that fires, down to a time long past."""

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield from super().on_timer(timestamp, ctx)
        if timestamp > 0:
            self.do(ctx.timer_service(), "register", timestamp - 4)


@domains
def test_a_timer_set_for_a_time_already_passed_fires(domain: TimeDomain) -> None:
    """In event time at once; processing time stands still, so there with the next batch."""
    harness = harness_of(Chain(domain))
    harness.process_element(("k", "register", 10))
    harness.process_element(("k", "register", 12))
    fired = reach(harness, domain, 12)
    if domain is PROCESSING:
        assert fired == [("k", 10), ("k", 12)]
        for time in (13, 14, 15):
            fired += reach(harness, domain, time)
    else:
        assert fired[:5] == [("k", 10), ("k", 6), ("k", 2), ("k", -2), ("k", 12)]
    assert sorted(fired) == [("k", time) for time in (-2, 0, 2, 4, 6, 8, 10, 12)]


@domains
def test_the_domains_do_not_mix(domain: TimeDomain) -> None:
    harness = harness_of(Setting(domain))
    harness.process_element(("k", "register", 10))
    other = PROCESSING if domain is EVENT else EVENT
    assert reach(harness, other, 1000) == []
    assert harness.timer_count() == 1


@pytest.mark.parametrize("wrong", [None, 1.5, "10"])
def test_the_time_of_a_timer_is_a_whole_number(wrong: Any) -> None:
    harness = harness_of(Setting(EVENT))
    with pytest.raises(ProgramError, match="the time of a timer is a number of milliseconds"):
        harness.process_element(("k", "register", wrong))


class Silence(KeyedCoProcessFunction):
    """Both inputs share the timer of their key: it fires when neither has spoken for a while."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.due = runtime_context.get_state(ValueStateDescriptor("due"))

    def spoke(self, ctx: Any) -> None:
        timers = ctx.timer_service()
        if self.due.value() is not None:
            timers.delete_event_time_timer(self.due.value())
        self.due.update(ctx.timestamp() + 10)
        timers.register_event_time_timer(ctx.timestamp() + 10)

    def process_element1(self, value: Any, ctx: Any) -> None:
        self.spoke(ctx)

    def process_element2(self, value: Any, ctx: Any) -> None:
        self.spoke(ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp


def test_two_inputs_share_timers() -> None:
    harness = TwoInputHarness(Silence(), (str, str))
    harness.process_element("k", 1)
    harness.process_element2("k", 5)
    harness.process_watermark1(100)
    assert harness.take_records() == []
    harness.process_watermark2(14)
    assert harness.take_records() == []
    harness.process_watermark2(15)
    assert harness.take_records() == [("k", 15)]


class Many(KeyedProcessFunction):
    """Ten timers a record."""

    def process_element(self, value: int, ctx: Any) -> None:
        timers = ctx.timer_service()
        for i in range(10):
            timers.register_event_time_timer((value * 7919 + i * 104729) % 1_000_003)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        assert timestamp >= Many.last
        Many.last = timestamp
        Many.fired += 1

    last = fired = 0


def test_a_million_timers_on_a_hundred_thousand_keys() -> None:
    Many.last = Many.fired = 0
    harness = OneInputHarness(Many(), lambda n: n)
    began = time.monotonic()
    harness.process_elements([(n, None) for n in range(100_000)])
    assert harness.timer_count() == 1_000_000
    harness.process_watermark(500_000)
    assert 400_000 < Many.fired < 600_000
    harness.move()
    assert harness.timer_count() == 1_000_000 - Many.fired
    harness.end_input()
    assert Many.fired == 1_000_000
    assert time.monotonic() - began < 120


class Alarm(KeyedProcessFunction):
    """Answer every record 100 ms of processing time later, and once more 50 ms after that."""

    def process_element(self, value: Any, ctx: Any) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 100)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        if timestamp % 100 == 0:
            timers.register_processing_time_timer(timestamp + 50)
        yield ctx.get_current_key(), timestamp, timers.current_processing_time()


def alarms() -> tuple[Any, RecordingSink]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    sink = RecordingSink()
    forever = env.from_source(Forever(["x", "y", "z"]), None, "forever")
    forever.key_by(lambda value: value).process(Alarm()).sink_to(sink)
    return build_plan(env), sink


@pytest.mark.parametrize("restarted", [False, True])
def test_without_data_processing_time_timers_fire_when_their_time_comes(
    restarted: bool, tmp_path: Path
) -> None:
    plan, sink = alarms()
    clock = ManualClock(1_000_000)
    job = LocalJob(plan, tmp_path, clock=clock, poll_ms=0)
    assert job.run_while_there_is_input() == 1
    seen = []
    for at in range(1_000_001, 1_000_201):
        clock.set(at)
        if restarted and at % 40 == 0:
            job = LocalJob(plan, tmp_path, clock=clock, poll_ms=0)
        if job.step() is not None:
            seen.append(at)
    job.ask()
    # One batch for all timers that are due, at the very millisecond, and no other batch.
    assert seen == [1_000_100, 1_000_150]
    assert sorted(sink.values()) == [(k, at, at) for k in "xyz" for at in (1_000_100, 1_000_150)]
    job.close()


def test_timers_that_came_due_while_nobody_ran_the_job_fire_at_its_restart(tmp_path: Path) -> None:
    plan, sink = alarms()
    clock = ManualClock(1_000_000)
    LocalJob(plan, tmp_path, clock=clock, poll_ms=0).run_while_there_is_input()
    clock.advance(10_000)
    job = LocalJob(plan, tmp_path, clock=clock, poll_ms=0)
    job.run_while_there_is_input()
    expected = [(k, at, 1_010_000) for k in "xyz" for at in (1_000_100, 1_000_150)]
    assert sorted(sink.values()) == expected
    job.close()


class AtOnce(KeyedProcessFunction):
    """Set a timer for a time that has come."""

    def process_element(self, value: str, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(
            ctx.timer_service().current_processing_time()
        )

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark() < 0


def test_a_timer_that_is_due_fires_before_its_input_ends(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    sink = RecordingSink()
    env.from_collection(["a", "b", "a"]).key_by(lambda key: key).process(AtOnce()).sink_to(sink)
    job = LocalJob(build_plan(env), tmp_path, clock=ManualClock(1_000_000))
    job.run()
    job.close()
    assert sink.values() == [("a", 1_000_000, True), ("b", 1_000_000, True)]


class LazyState(KeyedProcessFunction):
    """Make state when it is first asked for, as a lazy val of Scala does."""

    @cached_property
    def seen(self) -> Any:
        descriptor = ValueStateDescriptor("seen")
        return self.get_runtime_context().get_state(descriptor)

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        self.seen.update((self.seen.value() or 0) + 1)
        yield value, self.seen.value()


def test_state_that_is_made_when_it_is_asked_for() -> None:
    results = run(
        lambda env: env.from_collection(list("abaab")).key_by(lambda v: v).process(LazyState()),
        cuts=1,
        workers=("a", "b"),
    )
    assert results == [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2)]
