"""Patterns that have no meaning are refused when they are built, and say why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern, SimpleCondition, WithinType
from penstock.cep.testing import match
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import MalformedPatternError, PenstockError, SkipTargetError

skip = AfterMatchSkipStrategy


def a() -> Pattern:
    return Pattern.begin("a")


def use(pattern: Any) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    return CEP.pattern(env.from_collection([1]), pattern)


class Odd(SimpleCondition[int]):
    def filter(self, value: int) -> bool:
        return value % 2 == 1


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: a().next("b").followed_by("a"),
        """two stages of a pattern have the same name
  where: pattern 'a' -> 'b' -> 'a'
  got:   'a'
  to do: give each stage its own name, also inside of groups""",
    ),
    (
        lambda: a().next(Pattern.begin("b").next("a2")).next("b"),
        """two stages of a pattern have the same name
  where: pattern 'a' -> ('b' -> 'a2') -> 'b'
  got:   'b'
  to do: give each stage its own name, also inside of groups""",
    ),
    (
        lambda: use(a().not_followed_by("b")),
        """not_followed_by() as the last stage needs a time after which it is fulfilled
  where: pattern 'a' -> 'b'
  to do: call within(...) on the pattern""",
    ),
    (
        lambda: a().not_next("b").greedy(),
        """greedy() has no meaning for what must not come
  where: pattern 'a' -> 'b'
  to do: leave it out behind not_next() and not_followed_by()""",
    ),
    (
        lambda: a().not_followed_by("b").times(2),
        """times() has no meaning for what must not come
  where: pattern 'a' -> 'b'
  to do: leave it out behind not_next() and not_followed_by()""",
    ),
    (
        lambda: a().not_followed_by("b").optional(),
        """optional() has no meaning for what must not come
  where: pattern 'a' -> 'b'
  to do: leave it out behind not_next() and not_followed_by()""",
    ),
    (
        lambda: a().times(0),
        """times() needs a number above zero
  where: pattern 'a'
  got:   0
  to do: pass 1 or more; times(0, n) and optional() allow for none""",
    ),
    (
        lambda: a().times_or_more(0),
        """times_or_more() needs a number above zero
  where: pattern 'a'
  got:   0
  to do: pass 1 or more; times(0, n) and optional() allow for none""",
    ),
    (
        lambda: a().times(3, 2),
        """times() needs a second number that is not below the first
  where: pattern 'a'
  got:   times(3, 2)
  to do: pass the smaller number first""",
    ),
    (
        lambda: a().one_or_more().times(2),
        """the stage says already how often it takes events
  where: pattern 'a'
  got:   times() on a looping stage
  to do: call one of times(), times_or_more() and one_or_more(), once""",
    ),
    (
        lambda: a().greedy(),
        """greedy() needs a stage that takes several events
  where: pattern 'a'
  to do: call times(), times_or_more() or one_or_more() first""",
    ),
    (
        lambda: a().one_or_more().allow_combinations().greedy(),
        """greedy() has no meaning for a stage that allows combinations
  where: pattern 'a'
  to do: call one of greedy() and allow_combinations()""",
    ),
    (
        lambda: a().consecutive(),
        """consecutive() needs a stage that takes several events
  where: pattern 'a'
  to do: call times(), times_or_more() or one_or_more() first""",
    ),
    (
        lambda: a().one_or_more().consecutive().allow_combinations(),
        """a stage is either consecutive or allows combinations, and says so once
  where: pattern 'a'
  got:   allow_combinations() on a stage that is consecutive already
  to do: call one of consecutive() and allow_combinations(), once""",
    ),
    (
        lambda: a().optional().optional(),
        """the stage is optional already
  where: pattern 'a'
  to do: call optional() once; times(0, n) says it too""",
    ),
    (
        lambda: a().one_or_more().greedy().next("b").optional(),
        """an optional stage cannot stand behind a greedy one
  where: pattern 'a' -> 'b'
  to do: leave out greedy() of the stage before, or optional() of this one""",
    ),
    (
        lambda: a().optional().not_next("b"),
        """not_next() cannot stand behind an optional stage
  where: pattern 'a'
  to do: use two patterns, one with and one without the optional stage""",
    ),
    (
        lambda: a().not_followed_by(Pattern.begin("b")),  # type: ignore[arg-type]
        """not_followed_by() takes the name of a stage, not a group
  where: pattern 'a'
  to do: describe what must not come by the condition of one stage""",
    ),
    (
        lambda: a().until(lambda event: True),
        """until() needs a looping stage
  where: pattern 'a'
  to do: call one_or_more() or times_or_more() first""",
    ),
    (
        lambda: a().one_or_more().until(lambda event: True).until(lambda event: True),
        """a stage has one until() condition at most
  where: pattern 'a'
  to do: join the conditions into one function""",
    ),
    (
        lambda: a().within(0),
        """within() needs a time above zero
  where: pattern 'a'
  got:   0 ms
  to do: pass a Duration, a Time, a timedelta or milliseconds""",
    ),
    (
        lambda: use(a().next("b").within(9, WithinType.PREVIOUS_AND_CURRENT).next("c").within(5)),
        """the time between two events is longer than that of the whole match
  where: pattern 'a' -> 'b'
  got:   9 ms, and 5 ms for the whole match
  to do: shorten the one or lengthen the other within(...)""",
    ),
    (
        lambda: use(Pattern.begin("a", skip.skip_to_last("c")).next("b")),
        """the skip strategy names a stage that the pattern does not have
  where: pattern 'a' -> 'b'
  got:   'c'
  to do: name one of the pattern's own stages; those inside of groups do not count""",
    ),
    (
        lambda: Pattern.begin("a", "past"),  # type: ignore[arg-type]
        """begin() needs a skip strategy as its second argument
  got:   'past'
  to do: pass AfterMatchSkipStrategy.skip_past_last_event() or one of its like""",
    ),
    (
        lambda: use(Pattern.begin(Pattern.begin("a").optional()).one_or_more()),
        """a group that repeats without end must take an event each time
  where: pattern ('a')
  to do: leave out optional() of at least one of its stages""",
    ),
    (
        lambda: Pattern.begin(a().next("b")).where(lambda event: True),
        """where() cannot be called on a group
  where: pattern ('a' -> 'b')
  to do: call where() on the stages inside the group""",
    ),
    (
        lambda: Pattern.begin(a()).one_or_more().greedy(),
        """greedy() cannot be called on a group
  where: pattern ('a')
  to do: call greedy() on the stages inside the group""",
    ),
    (
        lambda: Pattern.begin("a:1"),
        """a stage cannot have this name
  where: pattern 'a:1'
  got:   'a:1'
  to do: use a name without ':' that is not '$endState$'""",
    ),
    (
        lambda: Pattern.begin(""),
        """a stage needs a name, or a pattern as a group
  where: pattern ''
  got:   ''
  to do: pass a string that is not empty""",
    ),
    (
        lambda: a().where(lambda event, ctx, more: True),
        """where() needs a function of an event, or of an event and a context
  where: pattern 'a'
  got:   LAMBDA with 3 arguments
  to do: write lambda event: ... or lambda event, ctx: ...""",
    ),
    (
        lambda: a().where(Odd),
        """where() needs a function of an event, or of an event and a context
  where: pattern 'a'
  got:   ABCMeta <class 'tests.unit.cep.test_malformed.Odd'>
  to do: pass a function, or an object of a subclass of SimpleCondition or IterativeCondition""",
    ),
    (
        lambda: a().subtype("str"),  # type: ignore[arg-type]
        """subtype() needs a class
  where: pattern 'a'
  got:   'str'
  to do: pass the class that the events of this stage have""",
    ),
    (
        lambda: use("a"),
        """a pattern is needed
  got:   str 'a'
  to do: build one that starts with Pattern.begin(...)""",
    ),
]


@pytest.mark.parametrize(("build", "text"), REFUSED)
def test_it_is_refused_when_it_is_built(build: Callable[[], Any], text: str) -> None:
    with pytest.raises(MalformedPatternError) as caught:
        build()
    got = caught.value.got
    if got is not None and "<lambda>" in got:
        caught.value.got = "LAMBDA with " + got.rpartition(" with ")[2]
    assert str(caught.value) == text


def test_a_skip_target_that_is_missing() -> None:
    strategy = skip.skip_to_first("b").throw_exception_on_miss()
    pattern = Pattern.begin("a", strategy).next("b").optional()
    with pytest.raises(SkipTargetError) as caught:
        match(pattern, [(1, 1)])
    assert (
        str(caught.value)
        == """the match has no event of the stage that is skipped to
  where: AfterMatchSkipStrategy.skip_to_first('b')
  to do: skip to another stage, or leave out throw_exception_on_miss()"""
    )


def test_a_skip_target_that_is_the_first_event() -> None:
    pattern = Pattern.begin("a", skip.skip_to_first("a").throw_exception_on_miss())
    with pytest.raises(SkipTargetError) as caught:
        match(pattern, [(1, 1)])
    assert (
        str(caught.value)
        == """the stage that is skipped to has the first event of the match
  where: AfterMatchSkipStrategy.skip_to_first('a')
  to do: skip to another stage, or leave out throw_exception_on_miss()"""
    )


def test_a_comparator_that_is_none() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(PenstockError, match=r"CEP.pattern\(\) needs an EventComparator or a call"):
        CEP.pattern(env.from_collection([1]), a(), 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("call", ["select", "flat_select", "process"])
def test_a_function_that_is_none(call: str) -> None:
    with pytest.raises(PenstockError, match=f"{call}\\(\\) needs a Pattern"):
        getattr(use(a()), call)(1)
