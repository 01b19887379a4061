"""Whole jobs in event time and processing time: what fires when, and how the end comes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.common.time import Duration
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.core.functions import KeyedProcessFunction, ProcessFunction, RuntimeContext
from penstock.core.state import ValueStateDescriptor
from penstock.core.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.graph.specs import KeyedProcessSpec, ProcessSpec, TimestampsSpec
from tests.unit.runtime.plans import Planner
from tests.unit.runtime.runner import Runner, batch
from tests.unit.runtime.test_pipelines import EVENT_TIME, Watching, first


class Alarm(KeyedProcessFunction):
    """Set the timers that records ask for: (key, kind, time); tell what fires when."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        _, kind, time = value
        timers = ctx.timer_service()
        if kind == "event":
            timers.register_event_time_timer(time)
        elif kind == "processing":
            timers.register_processing_time_timer(time)
        self.count.update((self.count.value() or 0) + 1)
        yield "record", ctx.get_current_key(), kind, timers.current_processing_time()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        assert ctx.timestamp() == timestamp
        domain = ctx.time_domain().name[0]
        watermark = ctx.timer_service().current_watermark()
        yield "timer", ctx.get_current_key(), timestamp, domain, self.count.value(), watermark


def alarms(strategy: Any = None, parallelism: int = 1) -> Runner:
    plan = Planner(parallelism)
    source = plan.source(strategy=strategy)
    plan.sink(plan.keyed(KeyedProcessSpec(Alarm()), source, first))
    return Runner(plan.build())


def test_processing_time_timers_fire_before_the_first_record_of_a_batch() -> None:
    job = alarms()
    job.run({0: [("a", "processing", 1500), ("b", "processing", 1400)]}, time=1000)
    assert job.timers == {("level 1", 0): 1400}
    job.run({0: [("a", "none", 0)]}, time=1450)
    assert job.timers == {("level 1", 0): 1500}
    job.run(time=1499)
    job.run(time=1600, worker="other")
    assert job.timers == {("level 1", 0): None}
    assert job.written["sink"] == [
        (0, ("record", "a", "processing", 1000), None),
        (0, ("record", "b", "processing", 1000), None),
        (0, ("timer", "b", 1400, "P", 1, MIN_WATERMARK), None),
        (0, ("record", "a", "none", 1450), None),
        (0, ("timer", "a", 1500, "P", 2, MIN_WATERMARK), None),
    ]


def test_event_time_timers_fire_in_the_middle_of_a_batch_with_their_own_timestamp() -> None:
    marks = [(1, 10), (2, 20)]
    records = [("a", "event", 15), ("b", "event", 20), ("a", "none", 0)]
    job = alarms()
    job.run({0: batch(records, [1, 2, 3], marks)})
    assert [(value[:3], timestamp) for _, value, timestamp in job.written["sink"]] == [
        (("record", "a", "event"), 1),
        (("record", "b", "event"), 2),
        (("timer", "a", 15), 15),
        (("timer", "b", 20), 20),
        (("record", "a", "none"), 3),
    ]


def test_at_the_end_of_input_event_timers_fire_and_processing_timers_do_not() -> None:
    job = alarms()
    job.run({0: [("a", "event", 10**15), ("a", "processing", 2000), ("b", "event", 5)]}, time=1000)
    job.run(ended=True, time=1500)
    fired = [value for value in job.values() if value[0] == "timer"]
    assert fired == [
        ("timer", "b", 5, "E", 1, MAX_WATERMARK),
        ("timer", "a", 10**15, "E", 2, MAX_WATERMARK),
    ]
    assert job.timers == {("level 1", 0): None}, "nobody waits for what will not fire"
    job.run(time=3000)
    assert len(job.values()) == 5


HAPPENED: list[Any] = []


class Ending(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(50)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        HAPPENED.append(("timer", ctx.timer_service().current_watermark()))
        yield timestamp

    def close(self) -> None:
        HAPPENED.append("closed")


class BehindTheEnd(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        HAPPENED.append((value, ctx.timer_service().current_watermark()))

    def close(self) -> None:
        HAPPENED.append("closed behind")


def test_the_end_comes_in_order() -> None:
    plan = Planner()
    source = plan.source()
    timers = plan.keyed(KeyedProcessSpec(Ending()), source, lambda value: 0)
    plan.sink(plan.add(ProcessSpec(BehindTheEnd()), timers))
    job = Runner(plan.build())
    HAPPENED.clear()
    job.run({0: [1]}, ended=True)
    job.run()
    # What a timer sends at the end is not late: the last watermark comes behind it.
    assert HAPPENED == [("timer", MAX_WATERMARK), (50, MIN_WATERMARK), "closed", "closed behind"]


def test_a_silent_split_holds_the_watermark_back_until_it_is_idle() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, timestamp: value[2]
    )
    plan = Planner()
    source = plan.source(parallelism=2, strategy=strategy.with_idleness(Duration.of_millis(100)))
    plan.sink(plan.keyed(KeyedProcessSpec(Alarm()), source, first))
    job = Runner(plan.build())
    job.run({0: {0: [("a", "event", 10), ("b", "none", 50)]}}, time=1000)
    assert [value for value in job.values() if value[0] == "timer"] == []
    assert min(t for t in job.timers.values() if t is not None) == 1100
    job.run({0: {0: [("b", "none", 60)]}}, time=1099)
    job.run(time=1100)
    assert job.values()[-1] == ("timer", "a", 10, "E", 1, 59)


def test_watermarks_from_upstream_end_where_new_ones_are_made() -> None:
    plan = Planner()
    source = plan.source()
    late = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    stamped = plan.add(
        TimestampsSpec(late.with_timestamp_assigner(lambda value, timestamp: value)), source
    )
    plan.sink(plan.add(ProcessSpec(Watching()), stamped))
    job = Runner(plan.build())
    job.run({0: batch([10, 20], marks=[(0, 1000), (1, 2000)])})
    job.run({0: [30]})
    assert job.values() == [(10, MIN_WATERMARK), (20, MIN_WATERMARK), (30, 14)]
    assert [timestamp for _, _, timestamp in job.written["sink"]] == [10, 20, 30]


def test_timestamps_given_to_one_branch_do_not_show_in_another() -> None:
    plan = Planner()
    source = plan.source()
    stamp = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value: value)
    stamped = plan.add(TimestampsSpec(stamp), source)
    plan.sink(stamped, name="stamped")
    plan.sink(source, name="plain")
    job = Runner(plan.build())
    job.run({0: [1, 2]})
    assert [t for _, _, t in job.written["stamped"]] == [1, 2]
    assert [t for _, _, t in job.written["plain"]] == [None, None]


def test_no_watermark_but_the_last_one_in_batch_mode() -> None:
    plan = Planner()
    source = plan.source(strategy=EVENT_TIME)
    plan.sink(plan.add(ProcessSpec(Watching()), source))
    job = Runner(plan.build(batch_mode=True))
    job.run({0: [("a", 10), ("a", 20)]})
    job.run({0: batch([("a", 30)], marks=[(0, 25)])}, ended=True)
    assert [mark for _, mark in job.values()] == [MIN_WATERMARK] * 3


def test_a_slot_that_gets_no_record_still_hears_that_an_idle_stream_is_back() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, timestamp: value[2]
    )
    plan = Planner(parallelism=2)
    source = plan.source(strategy=strategy.with_idleness(Duration.of_millis(100)))
    plan.sink(plan.keyed(KeyedProcessSpec(Alarm()), source, first))
    job = Runner(plan.build())
    job.run({0: [("a", "event", 50), ("e", "event", 50), ("b", "none", 20)]}, time=1000)
    assert {subtask for subtask, _, _ in job.written["sink"]} == {0, 1}
    job.run(time=1100)
    job.run({0: [("b", "none", 60)]}, time=1200)  # a record for one slot, a watermark for both
    fired = {value[1] for value in job.values() if value[0] == "timer"}
    assert fired == {"a", "e"}
