"""Generators are asked where a replay asks them too, and a silent stream goes idle once."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.common.time import Duration
from penstock.common.watermark import Watermark, WatermarkOutput
from penstock.common.watermark_strategy import (
    AssignerWithPeriodicWatermarks,
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkStrategy,
)
from penstock.core.time import MIN_WATERMARK
from penstock.errors import MissingTimestampError
from penstock.graph.plan import PlanOperator
from penstock.graph.specs import CallSite, TimestampsSpec
from penstock.runtime.scope import Scope
from penstock.runtime.watermarks import WatermarkSource

PLAN = PlanOperator(
    id=1, uid="uid", name="Timestamps", spec=TimestampsSpec(None), parallelism=1,
    max_parallelism=128, level=0, site=CallSite("job.py", 3), inputs=(), outputs=(),
)  # fmt: skip


class Punctuated(WatermarkGenerator[Any]):
    """Follows every record, and remembers how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.lock = threading.Lock()

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self.asked += 1


class Stream:
    """A stream of records with a strategy; it writes down what happens in which order."""

    def __init__(self, strategy: WatermarkStrategy, interval: int = 100) -> None:
        self.scope = Scope()
        self.source = WatermarkSource(PLAN, strategy, self.scope, interval, self._changed)
        self.seen: list[Any] = []

    def _changed(self) -> None:
        mark = "idle" if self.source.idle else self.source.watermark
        if mark != MIN_WATERMARK:
            self.seen.append(("W", mark))

    def batch(self, *records: Any, time: int = 0, timestamp: int | None = None) -> list[Any]:
        self.scope.time, self.scope.timestamp = time, timestamp
        self.source.begin_batch()
        for value in self.source.stamp(records):
            self.seen.append((value, self.scope.timestamp))
            self.scope.timestamp = -99  # operators downstream may do as they like
        self.source.end_batch()
        seen, self.seen = self.seen, []
        return seen


def ascending() -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, timestamp: value
    )


def test_a_periodic_generator_is_asked_after_so_many_records_and_at_the_end_of_the_batch() -> None:
    stream = Stream(ascending(), interval=2)
    assert stream.batch(10, 20, 30) == [(10, 10), (20, 20), ("W", 19), (30, 30), ("W", 29)]
    assert stream.batch(40) == [(40, 40), ("W", 39)]
    assert stream.batch() == []


def test_nothing_in_one_chunk_is_late_against_itself() -> None:
    stream = Stream(ascending())
    assert stream.batch(30, 10, 20) == [(30, 30), (10, 10), (20, 20), ("W", 29)]


def test_a_punctuated_generator_speaks_behind_the_record() -> None:
    strategy = WatermarkStrategy.for_generator(Punctuated).with_timestamp_assigner(
        lambda value: value
    )
    assert Stream(strategy).batch(5, 3, 7) == [(5, 5), ("W", 5), (3, 3), (7, 7), ("W", 7)]


def test_records_keep_their_timestamps_without_an_assigner() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    assert Stream(strategy).batch("a", "b", timestamp=7) == [("a", 7), ("b", 7), ("W", 6)]
    assert Stream(strategy).batch("a", "b") == [("a", None), ("b", None)]


def test_an_assigner_is_told_the_timestamp_that_the_record_had_and_no_other() -> None:
    told = []

    class Telling(TimestampAssigner[Any]):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            told.append(record_timestamp)
            return 1000

    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(
        lambda value, timestamp: told.append(timestamp) or 1000
    )
    Stream(strategy).batch("a", "b")
    Stream(strategy).batch("c", "d", timestamp=5)
    assert told == [MIN_WATERMARK, MIN_WATERMARK, 5, 5]
    Stream(WatermarkStrategy.no_watermarks().with_timestamp_assigner(Telling())).batch("e")


def test_a_whole_number_may_be_a_float() -> None:
    stream = Stream(ascending())
    ((_, timestamp), _) = stream.batch(10.0)
    assert (timestamp, type(timestamp)) == (10, int)


@pytest.mark.parametrize("value", [1.5, "10", None, float("inf"), float("nan")])
def test_a_timestamp_that_is_no_number_of_milliseconds(value: Any) -> None:
    with pytest.raises(MissingTimestampError) as caught:
        Stream(ascending()).batch(value)
    assert str(caught.value) == (
        "a timestamp assigner must return epoch milliseconds as a whole number\n"
        "  where: operator 'Timestamps', built at job.py:3\n"
        f"  got:   {value!r} for {value!r}\n"
        "  to do: return an int from extract_timestamp(value, record_timestamp)"
    )


def test_a_silent_stream_goes_idle_and_comes_back_with_a_record() -> None:
    stream = Stream(ascending().with_idleness(Duration.of_millis(100)))
    assert stream.batch(10, time=1000) == [(10, 10), ("W", 9)]
    assert stream.source.idle_at() == 1100
    assert stream.batch(time=1099) == []
    assert stream.batch(time=1100) == [("W", "idle")]
    assert stream.source.idle_at() is None
    assert stream.batch(time=1200) == [], "it is not asked again while it is idle"
    assert stream.batch(20, time=1300) == [("W", 9), (20, 20), ("W", 19)]
    assert stream.source.idle_at() == 1400


def test_a_stream_that_never_had_a_record_is_silent_from_the_first_batch_on() -> None:
    stream = Stream(ascending().with_idleness(Duration.of_millis(100)))
    assert stream.batch(time=1000) == []
    assert stream.source.idle_at() == 1100
    assert stream.batch(time=1100) == [("W", "idle")]


def test_a_generator_may_say_itself_that_the_stream_is_idle() -> None:
    class Moody(WatermarkGenerator[Any]):
        def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
            if event == "sleep":
                output.mark_idle()
            elif event == "wake":
                output.mark_active()
            else:
                output.emit_watermark(Watermark(event))

        def on_periodic_emit(self, output: WatermarkOutput) -> None:
            output.emit_watermark(Watermark(1))

    stream = Stream(WatermarkStrategy.for_generator(Moody))
    assert stream.batch(5, "sleep") == [(5, None), ("W", 5), ("sleep", None), ("W", "idle")]
    assert stream.batch() == [], "a watermark that does not rise wakes nobody"
    assert stream.batch(6) == [("W", 5), (6, None), ("W", 6)]


class MaxSoFar(AssignerWithPeriodicWatermarks[int]):
    """The classic kind: timestamps and watermarks in one object, the maximum in an attribute."""

    def __init__(self) -> None:
        self.largest = 0
        self.connection = threading.Lock()

    def __deepcopy__(self, memo: Any) -> MaxSoFar:
        return MaxSoFar()

    def __getstate__(self) -> dict[str, Any]:
        return {"largest": self.largest}

    def extract_timestamp(self, element: int, previous_element_timestamp: int) -> int:
        self.largest = max(self.largest, element)
        return element

    def get_current_watermark(self) -> Watermark:
        return Watermark(self.largest - 10)


def test_a_classic_assigner_keeps_its_attributes_over_workers() -> None:
    strategy = WatermarkStrategy.for_assigner(MaxSoFar())
    first, second = Stream(strategy), Stream(strategy)
    assert first.batch(100) == [(100, 100), ("W", 90)]
    second.source.restore(first.source.snapshot())
    assert second.batch(50) == [(50, 50)]
    assert second.batch(120) == [(120, 120), ("W", 110)]


def test_attributes_of_a_generator_are_kept_beside_one_that_cannot_be_pickled() -> None:
    strategy = WatermarkStrategy.for_generator(Punctuated)
    first, second = Stream(strategy), Stream(strategy)
    first.batch()
    first.batch()
    second.source.restore(first.source.snapshot())
    assert second.source._generator.asked == 2
    second.batch()
    assert second.source._generator.asked == 3


def test_watermark_idleness_and_last_activity_are_kept_over_workers() -> None:
    strategy = ascending().with_idleness(Duration.of_millis(100))
    first, second = Stream(strategy), Stream(strategy)
    first.batch(10, time=1000)
    second.source.restore(first.source.snapshot())
    assert second.source.idle_at() == 1100
    assert second.batch(5, time=1050) == [(5, 5)], "nor does the watermark fall"
    second.batch(time=1200)
    first.source.restore(second.source.snapshot())
    assert first.source.idle
