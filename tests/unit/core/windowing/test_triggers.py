from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Time
from penstock.core.windowing import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaFunction,
    DeltaTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TimeWindow,
    Trigger,
    TriggerResult,
)
from penstock.errors import ProgramError, WindowConfigError
from tests.unit.core.windowing.fake_context import FakeContext

WINDOW = TimeWindow(0, 100)
CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
PURGE, FIRE_AND_PURGE = TriggerResult.PURGE, TriggerResult.FIRE_AND_PURGE


def difference(old: float, new: float) -> float:
    return abs(new - old)


ALL: list[Trigger[Any, Any]] = [
    EventTimeTrigger.create(),
    ProcessingTimeTrigger.create(),
    ContinuousEventTimeTrigger.of(Time.milliseconds(30)),
    ContinuousProcessingTimeTrigger.of(Time.milliseconds(30)),
    CountTrigger.of(3),
    DeltaTrigger.of(5, difference),
    PurgingTrigger.of(CountTrigger.of(3)),
    NeverTrigger(),
]


def test_results() -> None:
    table = {result: (result.is_fire(), result.is_purge()) for result in TriggerResult}
    assert table == {
        CONTINUE: (False, False),
        FIRE: (True, False),
        PURGE: (False, True),
        FIRE_AND_PURGE: (True, True),
    }


def test_event_time() -> None:
    trigger, ctx = EventTimeTrigger.create(), FakeContext(watermark=98)
    assert trigger.on_element("a", 5, WINDOW, ctx) is CONTINUE
    assert ctx.event_timers == {99}
    assert trigger.on_event_time(50, WINDOW, ctx) is CONTINUE
    assert trigger.on_event_time(99, WINDOW, ctx) is FIRE
    assert trigger.on_processing_time(99, WINDOW, ctx) is CONTINUE
    ctx.watermark = 99
    assert trigger.on_element("late", 5, WINDOW, ctx) is FIRE, "at once behind the window's end"
    trigger.clear(WINDOW, ctx)
    assert ctx.holds_nothing()


@pytest.mark.parametrize(("now", "timers"), [(98, {99}), (99, set())])
def test_merged_windows_get_a_timer_unless_their_time_is_over(now: int, timers: set[int]) -> None:
    ctx = FakeContext(watermark=now, processing_time=now)
    EventTimeTrigger().on_merge(WINDOW, ctx)
    ProcessingTimeTrigger().on_merge(WINDOW, ctx)
    assert (ctx.event_timers, ctx.processing_timers) == (timers, timers)


def test_processing_time() -> None:
    trigger, ctx = ProcessingTimeTrigger.create(), FakeContext(processing_time=5)
    assert trigger.on_element("a", 5, WINDOW, ctx) is CONTINUE
    assert ctx.processing_timers == {99}
    assert trigger.on_event_time(99, WINDOW, ctx) is CONTINUE
    assert trigger.on_processing_time(99, WINDOW, ctx) is FIRE
    trigger.clear(WINDOW, ctx)
    assert ctx.holds_nothing()


def test_count() -> None:
    trigger, ctx = CountTrigger.of(3), FakeContext()
    results = [trigger.on_element("a", 0, WINDOW, ctx) for _ in range(7)]
    assert results == [CONTINUE, CONTINUE, FIRE, CONTINUE, CONTINUE, FIRE, CONTINUE]
    trigger.clear(WINDOW, ctx)
    assert ctx.holds_nothing()


def test_counts_of_windows_that_merge_are_added() -> None:
    trigger, merged = CountTrigger.of(4), FakeContext()
    merged.others = [FakeContext(), FakeContext()]
    for other in merged.others:
        trigger.on_element("a", 0, WINDOW, other)
    trigger.on_merge(WINDOW, merged)
    assert trigger.on_element("a", 0, WINDOW, merged) is CONTINUE
    assert trigger.on_element("a", 0, WINDOW, merged) is FIRE


def test_continuous_event_time_fires_at_multiples_and_at_the_end() -> None:
    trigger, ctx = ContinuousEventTimeTrigger.of(Time.milliseconds(30)), FakeContext()
    assert trigger.on_element("a", 40, WINDOW, ctx) is CONTINUE
    assert ctx.event_timers == {60, 99}
    assert trigger.on_element("b", 70, WINDOW, ctx) is CONTINUE
    assert ctx.event_timers == {60, 99}, "the next time is set already"
    assert trigger.on_event_time(60, WINDOW, ctx) is FIRE
    assert 90 in ctx.event_timers
    assert trigger.on_event_time(60, WINDOW, ctx) is CONTINUE, "only the time that was set"
    assert trigger.on_event_time(90, WINDOW, ctx) is FIRE
    assert trigger.on_event_time(99, WINDOW, ctx) is FIRE
    ctx.event_timers -= {60, 90}
    trigger.clear(WINDOW, ctx)
    assert ctx.holds_nothing()


def test_continuous_processing_time_never_fires_behind_the_end() -> None:
    trigger = ContinuousProcessingTimeTrigger.of(Time.milliseconds(30))
    ctx, fired = FakeContext(processing_time=40), []
    assert trigger.on_element("a", 0, WINDOW, ctx) is CONTINUE
    while ctx.processing_timers:
        time = min(ctx.processing_timers)
        ctx.processing_timers.remove(time)
        assert trigger.on_processing_time(time, WINDOW, ctx) is FIRE
        fired.append(time)
    assert fired == [60, 90, 99]
    assert ctx.holds_nothing()


def test_the_earliest_time_of_windows_that_merge_counts() -> None:
    trigger = ContinuousEventTimeTrigger.of(Time.milliseconds(30))
    merged = FakeContext()
    merged.others = [FakeContext(), FakeContext()]
    for other, timestamp in zip(merged.others, (70, 10), strict=True):
        trigger.on_element("a", timestamp, WINDOW, other)
    trigger.on_merge(WINDOW, merged)
    assert merged.event_timers == {30, 99}


class Difference(DeltaFunction[float]):
    def get_delta(self, old_data_point: float, new_data_point: float) -> float:
        return abs(new_data_point - old_data_point)


@pytest.mark.parametrize("function", [difference, Difference()])
def test_delta(function: Any) -> None:
    trigger, ctx = DeltaTrigger.of(5, function), FakeContext()
    results = [trigger.on_element(value, 0, WINDOW, ctx) for value in (10, 12, 15, 16, 20, 22)]
    assert results == [CONTINUE, CONTINUE, CONTINUE, FIRE, CONTINUE, FIRE]
    trigger.clear(WINDOW, ctx)
    assert ctx.holds_nothing()


@pytest.mark.parametrize(
    ("inner", "outer"),
    [(CONTINUE, CONTINUE), (FIRE, FIRE_AND_PURGE), (PURGE, PURGE), (FIRE_AND_PURGE,) * 2],
)
def test_purging(inner: TriggerResult, outer: TriggerResult) -> None:
    class Fixed(NeverTrigger):
        def on_element(self, *args: Any) -> TriggerResult:
            return inner

        on_event_time = on_processing_time = on_element

    trigger, ctx = PurgingTrigger.of(Fixed()), FakeContext()
    assert trigger.on_element("a", 0, WINDOW, ctx) is outer
    assert trigger.on_event_time(0, WINDOW, ctx) is outer
    assert trigger.on_processing_time(0, WINDOW, ctx) is outer


@pytest.mark.parametrize("trigger", ALL, ids=lambda trigger: type(trigger).__name__)
def test_every_trigger_is_a_value_and_clears_up(trigger: Trigger[Any, Any]) -> None:
    assert pickle.loads(pickle.dumps(trigger)) == trigger
    ctx = FakeContext()
    trigger.on_element(1, 5, WINDOW, ctx)
    trigger.clear(WINDOW, ctx)
    assert ctx.holds_nothing()
    assert trigger.can_merge() is not isinstance(trigger, DeltaTrigger)


def test_a_trigger_that_cannot_merge() -> None:
    with pytest.raises(ProgramError) as caught:
        PurgingTrigger.of(DeltaTrigger.of(1, difference)).on_merge(WINDOW, FakeContext())
    assert str(caught.value) == (
        "this trigger does not work for windows that merge\n  where: DeltaTrigger.on_merge\n"
        "  to do: define can_merge and on_merge, or use another trigger with session windows"
    )


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: CountTrigger.of(0),
            "a count trigger must count to at least 1\n  where: CountTrigger\n  got:   0",
        ),
        (
            lambda: ContinuousEventTimeTrigger.of(Time.milliseconds(0)),
            "the interval of a continuous trigger must be above zero\n"
            "  where: ContinuousEventTimeTrigger\n  got:   0",
        ),
    ],
)
def test_settings_that_cannot_work(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(WindowConfigError) as caught:
        make()
    assert str(caught.value) == text
