"""What may stand in where(): functions and objects, of the event or of the event and a context."""

from __future__ import annotations

import operator
from datetime import timedelta
from typing import Any

import pytest

from penstock.cep import EventComparator, IterativeCondition, Pattern, SimpleCondition
from penstock.cep.testing import match, match_with_timeouts
from penstock.common import Duration, Time
from penstock.datastream.functions import FilterFunction

EVENTS = [(5, 1), (0, 2), (7, 3), (6, 4)]


class Positive(SimpleCondition[int]):
    def filter(self, value: int) -> bool:
        return value > 0


class Larger(IterativeCondition[int]):
    def filter(self, value: int, ctx: IterativeCondition.Context) -> bool:
        return value > max(ctx.get_events_for_pattern("a"), default=0)


class Filter(FilterFunction):  # type: ignore[type-arg]
    def filter(self, value: Any) -> bool:
        return value > 0


def bound(limit: int) -> Any:
    return lambda value, limit=limit: value > limit


@pytest.mark.parametrize(
    "condition",
    [
        Positive(),
        Larger(),
        Filter(),
        SimpleCondition.of(lambda value: value > 0),
        bound(0),
        lambda *values: values[0] > 0,
        operator.truth,
        lambda value, ctx: value > 0 and ctx.timestamp() > 0,
    ],
)
def test_conditions_of_any_form(condition: Any) -> None:
    found = match(Pattern.begin("a").where(condition), EVENTS)
    assert found == [{"a": [5]}, {"a": [7]}, {"a": [6]}]


def test_conditions_are_joined() -> None:
    small_or_six = Pattern.begin("a").where(lambda v: v > 0).where(lambda v: v < 6)
    assert match(small_or_six.or_(lambda v: v == 6), EVENTS) == [{"a": [5]}, {"a": [6]}]


def test_subtypes() -> None:
    pattern = Pattern.begin("a").subtype(int).next("b").subtype(str)
    assert match(pattern, [(1, 1), ("x", 2), (2, 3), (3, 4)]) == [{"a": [1], "b": ["x"]}]


def test_an_iterative_condition_sees_the_match_so_far() -> None:
    pattern = Pattern.begin("a").where(lambda v: v == 5).followed_by("b").where(Larger())
    assert match(pattern, EVENTS) == [{"a": [5], "b": [7]}]


@pytest.mark.parametrize("span", [10, Duration.of_millis(10), Time(10), timedelta(milliseconds=10)])
def test_times_of_any_form(span: Any) -> None:
    pattern = Pattern.begin("a").next("b").within(span)
    assert match_with_timeouts(pattern, [(1, 1), (2, 11)]) == (
        [],
        [({"a": [1]}, 11), ({"a": [2]}, 21)],
    )


class Backwards(EventComparator[int]):
    def compare(self, first: int, second: int) -> int:
        return second - first


@pytest.mark.parametrize("comparator", [Backwards(), lambda first, second: second - first])
def test_comparators_of_any_form(comparator: Any) -> None:
    events = [(1, 5), (3, 5), (2, 5)]
    assert match(Pattern.begin("a").next("b"), events, comparator) == [
        {"a": [3], "b": [2]},
        {"a": [2], "b": [1]},
    ]


def test_events_are_the_users_own() -> None:
    event = {"not": "hashable"}
    assert match(Pattern.begin("a"), [(event, 1)])[0]["a"][0] is event


def test_no_events() -> None:
    assert match_with_timeouts(Pattern.begin("a").within(5), []) == ([], [])


def test_times_before_1970() -> None:
    pattern = Pattern.begin("a").next("b").within(5)
    assert match(pattern, [("x", -3), ("y", 0)]) == [{"a": ["x"], "b": ["y"]}]
