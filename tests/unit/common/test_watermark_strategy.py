from __future__ import annotations

import logging
import operator
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest

from penstock.common import (
    MIN_WATERMARK,
    AscendingTimestampExtractor,
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    BoundedOutOfOrdernessTimestampExtractor,
    Duration,
    Time,
    TimestampAssigner,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
    WatermarkStrategyContext,
)
from penstock.common.watermark_strategy import (
    NO_TIMESTAMP,
    AssignerWithPeriodicWatermarksWrapper,
    BoundedOutOfOrdernessWatermarks,
    WatermarkAlignment,
)
from penstock.errors import ConfigurationError

CONTEXT = WatermarkStrategyContext("metrics")


class Marks(WatermarkOutput):
    def __init__(self) -> None:
        self.seen: list[int] = []

    def emit_watermark(self, watermark: Watermark) -> None:
        self.seen.append(watermark.timestamp)

    def mark_idle(self) -> None: ...

    def mark_active(self) -> None: ...


def watermarks(strategy: WatermarkStrategy, timestamps: list[int]) -> list[int]:
    """Return what a strategy emits if it is asked after every record."""
    generator, output = strategy.create_watermark_generator(CONTEXT), Marks()
    assign = strategy.assigner_for(generator, CONTEXT) or (lambda value, timestamp: value)
    for value in timestamps:
        generator.on_event(value, assign(value, NO_TIMESTAMP), output)
        generator.on_periodic_emit(output)
    return output.seen


class Bounded(BoundedOutOfOrdernessTimestampExtractor[int]):
    def extract_timestamp(self, element: int) -> int:  # type: ignore[override]
        return element


class Ascending(AscendingTimestampExtractor[int]):
    def extract_ascending_timestamp(self, element: int) -> int:
        return element


class Periodic(AssignerWithPeriodicWatermarks[int]):
    def __init__(self) -> None:
        self.largest = 0

    def extract_timestamp(self, element: int, previous_element_timestamp: int) -> int:
        self.largest = max(self.largest, element)
        return element

    def get_current_watermark(self) -> Watermark:
        return Watermark(self.largest - 10)


class Punctuated(AssignerWithPunctuatedWatermarks[int]):
    def extract_timestamp(self, element: int, previous_element_timestamp: int) -> int:
        return element * 10

    def check_and_get_next_watermark(
        self, last_element: int, extracted_timestamp: int
    ) -> Watermark | None:
        return Watermark(extracted_timestamp) if last_element % 2 else None


class EveryRecord(WatermarkGenerator[Any]):
    def __init__(self) -> None:
        self.count = 0

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self.count += 1
        output.emit_watermark(Watermark(self.count))

    def on_periodic_emit(self, output: WatermarkOutput) -> None: ...


BOUNDED = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (WatermarkStrategy.for_monotonous_timestamps(), [99, 99, 119]),
        (BOUNDED, [94, 94, 114]),
        (WatermarkStrategy.for_bounded_out_of_orderness(Time.milliseconds(5)), [94, 94, 114]),
        (WatermarkStrategy.no_watermarks(), []),
        (WatermarkStrategy.for_generator(EveryRecord), [1, 2, 3]),
        (WatermarkStrategy.for_generator(EveryRecord()), [1, 2, 3]),
        (WatermarkStrategy.for_generator(lambda: EveryRecord()), [1, 2, 3]),
        (WatermarkStrategy.for_assigner(Bounded(Time.milliseconds(5))), [95, 95, 115]),
        (WatermarkStrategy.for_assigner(Ascending()), [99, 99, 119]),
        (WatermarkStrategy.for_assigner(Periodic()), [90, 90, 110]),
        (WatermarkStrategy.for_assigner(Punctuated()), []),
        (AssignerWithPeriodicWatermarksWrapper(Periodic()), [90, 90, 110]),
    ],
)
def test_watermarks_of_every_strategy(strategy: WatermarkStrategy, expected: list[int]) -> None:
    assert watermarks(strategy, [100, 90, 120]) == expected
    # Every channel has books of its own, in another process too.
    assert watermarks(cloudpickle.loads(cloudpickle.dumps(strategy)), [100, 90, 120]) == expected
    assert watermarks(strategy, [100, 90, 120]) == expected


def test_a_punctuated_assigner_answers_after_the_record() -> None:
    assert watermarks(WatermarkStrategy.for_assigner(Punctuated()), [1, 2, 3]) == [10, 30]


@pytest.mark.parametrize(
    "strategy", [BOUNDED, WatermarkStrategy.for_assigner(Bounded(Time.days(9)))]
)
def test_before_the_first_record(strategy: WatermarkStrategy) -> None:
    output = Marks()
    strategy.create_watermark_generator(CONTEXT).on_periodic_emit(output)
    assert output.seen == [MIN_WATERMARK]


def test_a_timestamp_that_falls_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        watermarks(WatermarkStrategy.for_assigner(Ascending()), [5, 3])
    assert [record.message for record in caplog.records] == ["Timestamp monotony violated: 3 < 5"]


class OwnAssigner(TimestampAssigner[dict[str, int]]):
    def extract_timestamp(self, value: dict[str, int], record_timestamp: int) -> int:
        return value["at"]


@pytest.mark.parametrize(
    "assigner",
    [
        OwnAssigner(),
        lambda value, timestamp: value["at"],
        lambda value: value["at"],
        operator.itemgetter("at"),
    ],
)
def test_timestamp_assigners(assigner: Any) -> None:
    strategy = BOUNDED.with_timestamp_assigner(assigner)
    assign = strategy.assigner_for(strategy.create_watermark_generator(CONTEXT), CONTEXT)
    assert assign is not None
    assert assign({"at": 7}, NO_TIMESTAMP) == 7
    assert strategy.timestamp_assigner is assigner


def test_without_an_assigner_records_keep_their_timestamps() -> None:
    assert BOUNDED.assigner_for(BOUNDED.create_watermark_generator(CONTEXT), CONTEXT) is None


def test_a_classic_assigner_follows_its_generator_into_another_process() -> None:
    strategy = WatermarkStrategy.for_assigner(Periodic())
    generator = cloudpickle.loads(cloudpickle.dumps(strategy.create_watermark_generator(CONTEXT)))
    assign = strategy.assigner_for(generator, CONTEXT)
    assert assign is not None
    assign(500, NO_TIMESTAMP)
    assert generator.assigner.largest == 500


def test_settings_make_new_strategies() -> None:
    changed = (
        BOUNDED.with_timestamp_assigner(lambda value: value)
        .with_idleness(Duration.of_seconds(3))
        .with_watermark_alignment("group", Duration.of_seconds(20))
    )
    assert changed.idle_timeout_ms == 3000
    assert changed.alignment == WatermarkAlignment("group", 20_000, 1000)
    assert (BOUNDED.timestamp_assigner, BOUNDED.idle_timeout_ms, BOUNDED.alignment) == (
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-1)),
            "the bound of out-of-orderness must not be negative\n"
            "  where: BoundedOutOfOrdernessWatermarks\n"
            "  got:   Duration.of_millis(-1)\n"
            "  to do: give zero or more, for instance Duration.of_seconds(5)",
        ),
        (
            lambda: BOUNDED.with_idleness(Duration.of_millis(0)),
            "the idle timeout must be above zero\n"
            "  where: WatermarkStrategy.with_idleness\n  got:   Duration.of_millis(0)",
        ),
        (
            lambda: BOUNDED.with_timestamp_assigner("at"),
            "a timestamp assigner is needed\n"
            "  where: WatermarkStrategy.with_timestamp_assigner\n  got:   'at'\n"
            "  to do: give a TimestampAssigner or a function of a record",
        ),
        (
            lambda: WatermarkStrategy.for_generator(5),  # type: ignore[arg-type]
            "a watermark generator is needed\n"
            "  where: WatermarkStrategy.for_generator\n  got:   5\n"
            "  to do: give a WatermarkGenerator, its class, or a callable that makes one",
        ),
        (
            lambda: WatermarkStrategy.for_assigner(5),  # type: ignore[arg-type]
            "neither a WatermarkStrategy nor an assigner of timestamps and watermarks\n"
            "  where: assign_timestamps_and_watermarks()\n"
            "  got:   5\n"
            "  to do: begin with WatermarkStrategy.for_bounded_out_of_orderness(...)",
        ),
        (
            lambda: Bounded(Time.milliseconds(-1)),
            "the bound of out-of-orderness must not be negative\n"
            "  where: Bounded\n  got:   Time.milliseconds(-1)",
        ),
    ],
)
def test_wrong_settings(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()
    assert str(caught.value) == text


class Own(WatermarkStrategy):
    """No call of super().__init__, as users write it."""

    def __init__(self, lag: int) -> None:
        self.lag = lag

    def create_watermark_generator(self, context: WatermarkStrategyContext) -> Any:
        return BoundedOutOfOrdernessWatermarks(Duration.of_millis(self.lag))

    def create_timestamp_assigner(self, context: WatermarkStrategyContext) -> Any:
        return lambda value, timestamp: value * 10


def test_a_strategy_can_be_a_subclass() -> None:
    strategy = Own(5).with_idleness(Duration.of_seconds(1))
    assert watermarks(strategy, [1, 3])[-1] == 30 - 5 - 1
    assert strategy.idle_timeout_ms == 1000
    given = strategy.with_timestamp_assigner(lambda value, timestamp: value)
    assert watermarks(given, [1, 3])[-1] == 3 - 5 - 1


def test_a_subclass_must_make_generators() -> None:
    class Nothing(WatermarkStrategy):
        pass

    with pytest.raises(ConfigurationError) as caught:
        Nothing().create_watermark_generator(CONTEXT)
    assert str(caught.value) == (
        "a watermark strategy makes no generator\n"
        "  where: Nothing\n"
        "  to do: define create_watermark_generator(self, context) in the subclass"
    )


def test_a_supplier_may_take_a_context() -> None:
    seen = []

    def supply(context: WatermarkStrategyContext) -> Any:
        seen.append(context.get_metric_group())
        return BoundedOutOfOrdernessWatermarks(Duration.of_millis(1))

    strategy = WatermarkStrategy.for_generator(supply)
    assert watermarks(strategy.with_timestamp_assigner(lambda value: value), [5])[-1] == 3
    assert seen == ["metrics"]
