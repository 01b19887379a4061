"""Interval joins: their bounds, their state, their late records."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

from penstock.core.functions import ProcessJoinFunction
from penstock.core.output_tag import OutputTag
from penstock.errors import MissingTimestampError
from penstock.graph.specs import IntervalJoinSpec
from penstock.testing.harness import OperatorHarness, Record

pytestmark = pytest.mark.usefixtures("backend")

FAR = OutputTag("far")


class Pair(ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        times = ctx.get_left_timestamp(), ctx.get_right_timestamp()
        assert ctx.get_timestamp() == max(times)
        if abs(times[0] - times[1]) > 5:
            ctx.output(FAR, times)
        yield left[1], right[1]


def first_of(record: tuple) -> Any:
    return record[0]


def join(lower: int, upper: int, **settings: Any) -> OperatorHarness:
    spec = IntervalJoinSpec(lower, upper, Pair(), **settings)
    tags = ["left late", "right late", FAR]
    return OperatorHarness(spec, (first_of, first_of), side_outputs=tags)


def test_both_bounds_are_included() -> None:
    harness = join(-2, 1)
    harness.process_element(("a", "l"), 10)
    for time in range(6, 14):
        harness.process_element2(("a", time), time)
    assert harness.take_output() == [
        Record(("l", 8), 10), Record(("l", 9), 10), Record(("l", 10), 10), Record(("l", 11), 11)
    ]  # fmt: skip


def test_the_order_of_arrival_does_not_matter() -> None:
    harness = join(-2, 1)
    for time in range(6, 14):
        harness.process_element2(("a", time), time)
    harness.process_element(("a", "l"), 10)
    assert harness.take_records() == [("l", 8), ("l", 9), ("l", 10), ("l", 11)]


def test_only_equal_keys_meet_and_nobody_is_sent_alone() -> None:
    harness = join(-100, 100)
    harness.process_element(("a", 1), 1)
    harness.process_element2(("b", 2), 1)
    harness.end_input()
    assert harness.take_records() == []


def test_state_goes_when_the_watermark_has_passed() -> None:
    harness = join(-2, 5)
    harness.process_element(("a", 1), 10)
    harness.process_element2(("a", 2), 10)
    assert harness.state_size() == 2
    harness.process_watermark(11)
    assert harness.state_size() == 2  # a left one of 12 may still come for the right one of 10
    harness.process_watermark(12)
    assert harness.state_size() == 1
    harness.process_watermark(14)
    harness.process_element2(("a", 3), 15)
    harness.process_watermark(15)
    assert harness.state_size() == 1  # the left one of 10 is gone, the right one of 15 waits
    assert harness.take_records() == [(1, 2), (1, 3)]
    harness.process_watermark(17)
    assert (harness.state_size(), harness.timer_count()) == (0, 0)


def test_late_records_are_left_out() -> None:
    harness = join(-5, 5, left_late_tag="left late", right_late_tag="right late")
    harness.process_element(("a", 1), 20)
    harness.process_watermark(20)
    harness.process_element2(("a", 2), 20)  # as old as the watermark: not late
    harness.process_element(("a", 3), 19)
    harness.process_element2(("a", 4), 19)
    assert harness.take_records() == [(1, 2)]
    assert harness.take_side_output("left late") == [Record(("a", 3), 19)]
    assert harness.take_side_output("right late") == [Record(("a", 4), 19)]


def test_a_side_output_has_the_time_of_the_pair() -> None:
    harness = join(-10, 10)
    harness.process_element2(("a", 1), 1)
    harness.process_element(("a", 2), 9)
    assert harness.take_side_output(FAR) == [Record((9, 1), 9)]


def test_a_record_without_a_time() -> None:
    harness = join(-10, 10)
    with pytest.raises(MissingTimestampError) as raised:
        harness.process_element(("a", 1))
    assert str(raised.value) == (
        "record has no event timestamp\n"
        "  where: operator 'operator', built at test:1\n"
        "  got:   ('a', 1)\n"
        "  to do: call assign_timestamps_and_watermarks(...) on both streams before "
        ".interval_join(...)"
    )


class Element(NamedTuple):
    key: str
    number: int  # in the order of arrival
    time: int
    watermark: int  # when it came


def meets(left: Element, right: Element, lower: int, upper: int) -> bool:
    """Tell whether two elements are a pair."""
    if left.key != right.key or not lower <= right.time - left.time <= upper:
        return False
    first, second = sorted((left, right), key=lambda element: element.number)
    # As in Flink the first one goes when a watermark reaches the end of its interval, although a
    # partner exactly that old would not be late.
    end = first.time + max(upper if first is left else -lower, 0)
    return second.watermark < end or second.watermark == first.watermark


@pytest.mark.parametrize(("lower", "upper"), [(-4, 4), (0, 0), (3, 9), (-9, -3), (-7, 0), (0, 7)])
def test_pairs_against_all_that_there_are(lower: int, upper: int) -> None:
    for seed in range(5):
        rng = random.Random(seed)
        harness = join(lower, upper)
        sides: tuple[list[Element], list[Element]] = ([], [])
        watermark = 0
        harness.process_watermark(watermark)
        for number in range(100):
            if rng.random() < 0.2:
                watermark += rng.randint(0, 6)
                harness.process_watermark(watermark)
            elif rng.random() < 0.1:
                rng.choice((harness.cut, harness.move))()
            key, side, time = rng.choice("ab"), rng.randint(0, 1), watermark + rng.randint(-3, 12)
            (harness.process_element2 if side else harness.process_element)((key, number), time)
            if time >= watermark:
                sides[side].append(Element(key, number, time, watermark))
        expected = [
            (left.number, right.number)
            for left in sides[0]
            for right in sides[1]
            if meets(left, right, lower, upper)
        ]
        assert sorted(harness.take_records()) == sorted(expected)
        harness.process_watermark(watermark + 1000)
        assert (harness.state_size(), harness.timer_count()) == (0, 0)
