"""Window joins and co-groups."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.core.functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from penstock.core.windowing import (
    CountTrigger,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.graph.specs import CoGroupSpec
from penstock.testing.harness import OperatorHarness, Record
from tests.unit.windowing import model

pytestmark = pytest.mark.usefixtures("backend")


class Both(CoGroupFunction):
    def co_group(self, first, second):
        yield list(first), list(second)


class Pair(JoinFunction):
    def join(self, first, second):
        return first, second


class Larger(FlatJoinFunction):
    def join(self, first, second):
        if first[1] > second[1]:
            yield first[1] - second[1]


def first_of(record: tuple) -> Any:
    return record[0]


def join_of(assigner: Any, function: Any, pairs: str, **settings: Any) -> OperatorHarness:
    trigger = settings.pop("trigger", EventTimeTrigger())
    spec = CoGroupSpec(assigner, trigger, function=function, pairs=pairs, **settings)
    return OperatorHarness(spec, (first_of, first_of), side_outputs=["late"])


TUMBLING = TumblingEventTimeWindows(10)


def test_a_join_gives_every_pair_of_a_window() -> None:
    harness = join_of(TUMBLING, Pair(), "join")
    harness.process_element(("a", 1), 1)
    harness.process_element(("a", 2), 5)
    harness.process_element(("a", 3), 12)
    harness.process_element2(("a", 10), 2)
    harness.process_element2(("a", 20), 9)
    harness.process_element2(("b", 30), 3)
    harness.process_watermark(9)
    pairs = [
        (("a", 1), ("a", 10)),
        (("a", 1), ("a", 20)),
        (("a", 2), ("a", 10)),
        (("a", 2), ("a", 20)),
    ]
    assert harness.take_output()[:-1] == [Record(pair, 9) for pair in pairs]
    harness.end_input()
    assert harness.take_records() == []  # no outer join: 3 and 30 have no partner
    assert harness.state_size() == 0


def test_a_join_waits_for_the_slower_side() -> None:
    harness = join_of(TUMBLING, lambda a, b: a[1] + b[1], "join")
    harness.process_element(("a", 1), 1)
    harness.process_element2(("a", 2), 1)
    harness.process_watermark1(100)
    assert harness.take_records() == []
    harness.process_watermark2(9)
    assert harness.take_records() == [3]


def test_a_flat_join_gives_any_number_of_results() -> None:
    harness = join_of(TUMBLING, Larger(), "flat_join")
    for value in (1, 5):
        harness.process_element(("a", value), value)
    for value in (2, 3):
        harness.process_element2(("a", value), value)
    harness.process_watermark(20)
    assert harness.take_records() == [3, 2]


def test_a_co_group_has_windows_of_one_side_only() -> None:
    harness = join_of(TUMBLING, Both(), "co_group")
    harness.process_element(("a", 1), 1)
    harness.process_element2(("b", 2), 1)
    harness.process_watermark(9)
    assert harness.take_records() == [([("a", 1)], []), ([], [("b", 2)])]


def test_late_records_of_both_sides() -> None:
    harness = join_of(TUMBLING, Pair(), "join", allowed_lateness=5, late_tag="late")
    harness.process_element(("a", 1), 1)
    harness.process_watermark(10)
    harness.process_element2(("a", 2), 2)  # late but allowed: the window fires again
    assert harness.take_records() == [(("a", 1), ("a", 2))]
    harness.process_watermark(14)
    harness.process_element2(("a", 3), 2)
    harness.process_element(("a", 4), 2)
    assert harness.take_side_output("late") == [Record(("a", 3), 2), Record(("a", 4), 2)]


def test_a_trigger_sees_which_side_an_element_is_of() -> None:
    class EverySecond(CountTrigger):
        def on_element(self, element, timestamp, window, ctx):
            assert element.is_two() == (element.get_two() is not None)
            return super().on_element(element, timestamp, window, ctx)

    harness = join_of(TUMBLING, Both(), "co_group", trigger=EverySecond(2))
    harness.process_element(("a", 1), 1)
    harness.process_element2(("a", 2), 1)
    assert harness.take_records() == [([("a", 1)], [("a", 2)])]


def test_a_gap_may_depend_on_the_side() -> None:
    gaps = DynamicEventTimeSessionWindows(lambda element: 10 if element.is_one() else 2)
    harness = join_of(gaps, Both(), "co_group")
    harness.process_element(("a", 1), 0)
    harness.process_element2(("a", 2), 9)
    harness.process_element2(("a", 3), 15)
    harness.process_watermark(100)
    assert harness.take_records() == [([("a", 1)], [("a", 2)]), ([], [("a", 3)])]


@pytest.mark.parametrize(
    ("assigner", "assign", "merging"),
    [
        (TumblingEventTimeWindows(10), model.tumbling(10), False),
        (SlidingEventTimeWindows(12, 4), model.sliding(12, 4), False),
        (SlidingEventTimeWindows(40, 4), model.sliding(40, 4), False),
        (EventTimeSessionWindows(5), model.session(lambda value: 5), True),
    ],
    ids=["tumbling", "sliding", "sliding far", "session"],
)
def test_joins_against_the_model(assigner: Any, assign: Any, merging: bool) -> None:
    for seed in range(5):
        rng = random.Random(seed)
        harness = join_of(assigner, Both(), "co_group", allowed_lateness=6, late_tag="late")
        plain = model.Model(model.Settings(assign, ("end",), merging=merging, lateness=6))
        watermark = 0
        for number in range(80):
            if rng.random() < 0.2:
                watermark += rng.randint(0, 12)
                harness.process_watermark(watermark)
                plain.advance_watermark(watermark)
            elif rng.random() < 0.05:
                harness.move()
            key, side, time = rng.choice("ab"), rng.randint(0, 1), watermark + rng.randint(-15, 20)
            feed = harness.process_element2 if side else harness.process_element
            feed((key, number), time)
            plain.element(key, (side, number), time)
        expected = [
            tuple([(key, value) for side, value in values if side == wanted] for wanted in (0, 1))
            for key, _, values in plain.fired
        ]
        assert sorted(harness.take_records()) == sorted(expected)
        late = [record.value for record in harness.take_side_output("late")]
        assert late == [(key, value) for key, (_, value) in plain.late]
