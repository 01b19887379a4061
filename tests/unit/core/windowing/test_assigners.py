from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import MIN_WATERMARK, Duration, Time
from penstock.core.windowing import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    CountWindow,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from penstock.errors import MissingTimestampError, WindowConfigError
from tests.unit.core.windowing.fake_context import FakeContext


def ms(number: int) -> Time:
    return Time.milliseconds(number)


def windows(assigner: Any, timestamp: int, element: Any = "a") -> list[tuple[int, int]]:
    context = FakeContext(processing_time=timestamp)
    found = assigner.assign_windows(element, timestamp, context)
    return [(window.start, window.end) for window in found]


@pytest.mark.parametrize("kind", [TumblingEventTimeWindows, TumblingProcessingTimeWindows])
@pytest.mark.parametrize(
    ("size", "offset", "timestamp", "expected"),
    [
        (5, None, 0, (0, 5)),
        (5, None, 4, (0, 5)),
        (5, None, 5, (5, 10)),
        (5, None, -1, (-5, 0)),
        (5, None, -5, (-5, 0)),
        (5, None, -6, (-10, -5)),
        (5, 2, 1, (-3, 2)),
        (5, 2, 2, (2, 7)),
        (5, -2, 3, (3, 8)),
    ],
)
def test_tumbling(
    kind: Any, size: int, offset: int | None, timestamp: int, expected: tuple[int, int]
) -> None:
    assigner = kind.of(ms(size)) if offset is None else kind.of(ms(size), ms(offset))
    assert windows(assigner, timestamp) == [expected]


@pytest.mark.parametrize("kind", [SlidingEventTimeWindows, SlidingProcessingTimeWindows])
@pytest.mark.parametrize(
    ("size", "slide", "offset", "timestamp", "expected"),
    [
        (10, 5, None, 7, [(5, 15), (0, 10)]),
        (10, 5, None, 5, [(5, 15), (0, 10)]),
        (10, 5, None, -1, [(-5, 5), (-10, 0)]),
        (10, 5, 1, 5, [(1, 11), (-4, 6)]),
        # Size no multiple of the slide: one window or two.
        (7, 5, None, 6, [(5, 12), (0, 7)]),
        (7, 5, None, 8, [(5, 12)]),
        # A slide above the size leaves gaps.
        (2, 5, None, 6, [(5, 7)]),
        (2, 5, None, 8, []),
    ],
)
def test_sliding(
    kind: Any,
    size: int,
    slide: int,
    offset: int | None,
    timestamp: int,
    expected: list[tuple[int, int]],
) -> None:
    rest = () if offset is None else (ms(offset),)
    assert windows(kind.of(ms(size), ms(slide), *rest), timestamp) == expected


class Length(SessionWindowTimeGapExtractor[str]):
    def extract(self, element: str) -> int:
        return len(element)


@pytest.mark.parametrize(
    "assigner",
    [
        EventTimeSessionWindows.with_gap(ms(3)),
        ProcessingTimeSessionWindows.with_gap(ms(3)),
        EventTimeSessionWindows.with_dynamic_gap(Length()),
        ProcessingTimeSessionWindows.with_dynamic_gap(len),
        DynamicEventTimeSessionWindows.with_dynamic_gap(len),
        DynamicProcessingTimeSessionWindows.with_dynamic_gap(Length()),
    ],
    ids=lambda assigner: type(assigner).__name__,
)
def test_sessions(assigner: Any) -> None:
    assert windows(assigner, 10, "abc") == [(10, 13)]
    found = []

    class Callback:
        def merge(self, to_be_merged: list[TimeWindow], merge_result: TimeWindow) -> None:
            found.append((to_be_merged, merge_result))

    assigner.merge_windows([TimeWindow(10, 13), TimeWindow(12, 15)], Callback())
    assert found == [([TimeWindow(10, 13), TimeWindow(12, 15)], TimeWindow(10, 15))]


def test_global_windows() -> None:
    assert GlobalWindows.create().assign_windows("a", 5, FakeContext()) == [GlobalWindow.get()]


def test_count_windows() -> None:
    context = FakeContext()
    tumbling = CountTumblingWindowAssigner.of(2)
    found = [tumbling.assign_windows("a", 0, context) for _ in range(5)]  # type: ignore[arg-type]
    assert found == [[CountWindow(0)], [CountWindow(0)], [CountWindow(1)], [CountWindow(1)],
                     [CountWindow(2)]]  # fmt: skip


@pytest.mark.parametrize(
    ("size", "slide", "expected"),
    [
        (3, 1, [[0], [1, 0], [2, 1, 0], [3, 2, 1], [4, 3, 2]]),
        (4, 2, [[0], [0], [1, 0], [1, 0], [2, 1]]),
        (1, 3, [[0], [], [], [1], []]),
    ],
)
def test_sliding_count_windows(size: int, slide: int, expected: list[list[int]]) -> None:
    context, assigner = FakeContext(), CountSlidingWindowAssigner.of(size, slide)
    found = [
        [window.id for window in assigner.assign_windows("a", 0, context)]  # type: ignore[arg-type]
        for _ in expected
    ]
    assert found == expected


ALL: list[tuple[Any, bool, Any]] = [
    (TumblingEventTimeWindows.of(ms(5)), True, EventTimeTrigger),
    (TumblingProcessingTimeWindows.of(ms(5)), False, ProcessingTimeTrigger),
    (SlidingEventTimeWindows.of(ms(5), ms(1)), True, EventTimeTrigger),
    (SlidingProcessingTimeWindows.of(ms(5), ms(1)), False, ProcessingTimeTrigger),
    (EventTimeSessionWindows.with_gap(ms(5)), True, EventTimeTrigger),
    (ProcessingTimeSessionWindows.with_gap(ms(5)), False, ProcessingTimeTrigger),
    (EventTimeSessionWindows.with_dynamic_gap(len), True, EventTimeTrigger),
    (ProcessingTimeSessionWindows.with_dynamic_gap(len), False, ProcessingTimeTrigger),
    (GlobalWindows.create(), False, NeverTrigger),
    (CountTumblingWindowAssigner.of(5), False, PurgingTrigger),
    (CountSlidingWindowAssigner.of(5, 1), False, PurgingTrigger),
]


@pytest.mark.parametrize(("assigner", "event_time", "trigger"), ALL)
def test_every_assigner(assigner: WindowAssigner[Any, Any], event_time: bool, trigger: Any) -> None:
    assert assigner.is_event_time() is event_time
    assert isinstance(assigner.get_default_trigger(None), trigger)
    assert pickle.loads(pickle.dumps(assigner)) == assigner
    window = assigner.assign_windows("abcde", 7, FakeContext())[0]  # type: ignore[arg-type, index]
    assert type(window).__name__ in type(assigner.get_window_serializer()).__name__


@pytest.mark.parametrize("timestamp", [None, MIN_WATERMARK])
@pytest.mark.parametrize("assigner", [each for each, event_time, _ in ALL if event_time])
def test_a_record_without_a_timestamp(assigner: Any, timestamp: int | None) -> None:
    with pytest.raises(MissingTimestampError) as caught:
        assigner.assign_windows("order", timestamp, FakeContext())
    assert str(caught.value) == (
        f"record has no event timestamp\n  where: {assigner!r}\n  got:   'order'\n"
        "  to do: call assign_timestamps_and_watermarks(...) on the stream before .window(...)"
    )


def test_assigners_print_their_settings() -> None:
    assigner = TumblingEventTimeWindows.of(Duration.of_minutes(5))
    assert repr(assigner) == "TumblingEventTimeWindows(size=300000, offset=0)"


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: TumblingEventTimeWindows.of(ms(0)), "the size of a window must be above zero"),
        (
            lambda: TumblingEventTimeWindows.of(ms(5), ms(5)),
            "the offset must be smaller than the window's size",
        ),
        (
            lambda: SlidingEventTimeWindows.of(ms(5), ms(0)),
            "the slide of a window must be above zero",
        ),
        (
            lambda: SlidingProcessingTimeWindows.of(ms(-1), ms(1)),
            "the size of a window must be above zero",
        ),
        (
            lambda: SlidingEventTimeWindows.of(ms(5), ms(2), ms(-2)),
            "the offset must be smaller than the slide",
        ),
        (
            lambda: EventTimeSessionWindows.with_gap(ms(0)),
            "the gap of a session must be above zero",
        ),
        (lambda: CountTumblingWindowAssigner.of(0), "the size of a window must be above zero"),
        (
            lambda: CountSlidingWindowAssigner.of(1, 0),
            "the slide of a window must be above zero",
        ),
    ],
)
def test_settings_that_cannot_work(make: Callable[[], Any], what: str) -> None:
    with pytest.raises(WindowConfigError) as caught:
        make()
    assert caught.value.what == what


def test_the_whole_text_of_such_an_error() -> None:
    with pytest.raises(WindowConfigError) as caught:
        SlidingEventTimeWindows.of(ms(5), ms(0))
    assert str(caught.value) == (
        "the slide of a window must be above zero\n  where: SlidingEventTimeWindows\n"
        "  got:   SlidingEventTimeWindows(size=5, slide=0, offset=0)"
    )
    with pytest.raises(WindowConfigError) as caught:
        windows(EventTimeSessionWindows.with_dynamic_gap(len), 5, "")
    assert str(caught.value) == (
        "the gap of a session must be above zero\n"
        "  where: DynamicEventTimeSessionWindows, element ''\n  got:   0\n"
        "  to do: return a positive number of milliseconds from the gap extractor"
    )
