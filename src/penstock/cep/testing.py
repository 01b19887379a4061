"""Try a pattern on a few events, without a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cmp_to_key
from itertools import groupby
from typing import Any

from penstock.core.pattern import EventComparator, Pattern
from penstock.core.time import MAX_WATERMARK
from penstock.runtime.calls import method_of
from penstock.runtime.cep.compiler import compile_pattern
from penstock.runtime.cep.nfa import NFA, Match, TimedOut

Comparator = Callable[[Any, Any], int] | EventComparator[Any]


def match(
    pattern: Pattern, events: Iterable[tuple[Any, int]], comparator: Comparator | None = None
) -> list[Match]:
    """Return the matches of a pattern, in the order in which a stream would have them.

    As a bounded stream of one key does it in event time: events are sorted by time, and behind the
    last one all time is up.

    >>> a_then_b = Pattern.begin("a").where(lambda e: e == "a").followed_by("b").where(str.isupper)
    >>> match(a_then_b, [("a", 1), ("x", 2), ("B", 3)])
    [{'a': ['a'], 'b': ['B']}]

    :param events: pairs of an event and its time in milliseconds.
    :param comparator: orders events of the same time: negative, zero or positive.
    """
    return match_with_timeouts(pattern, events, comparator)[0]


def match_with_timeouts(
    pattern: Pattern, events: Iterable[tuple[Any, int]], comparator: Comparator | None = None
) -> tuple[list[Match], list[TimedOut]]:
    """Return the matches of a pattern, and the partial matches whose time was up.

    >>> paid = Pattern.begin("order").where(lambda e: e == "order").followed_by("pay")
    >>> paid = paid.where(lambda e: e == "pay").within(10)
    >>> match_with_timeouts(paid, [("order", 1), ("order", 5), ("pay", 12)])
    ([{'order': ['order'], 'pay': ['pay']}], [({'order': ['order']}, 11)])

    :return: the matches, and pairs of a partial match and when its time was up.
    """
    nfa = NFA(compile_pattern(pattern), pattern.get_after_match_skip_strategy())
    state = nfa.initial_state()
    matches: list[Match] = []
    timed_out: list[TimedOut] = []

    def advance(time: int) -> None:
        complete, gone = nfa.advance_time(state, time)
        matches.extend(complete)
        timed_out.extend(gone)

    for time, group in groupby(sorted(events, key=_time), key=_time):
        advance(time)
        values = [event for event, _ in group]
        if comparator is not None:
            values.sort(key=cmp_to_key(method_of(comparator, "compare")))
        for value in values:
            matches += nfa.process(state, value, time, 0)
    advance(MAX_WATERMARK)
    return matches, timed_out


def _time(event: tuple[Any, int]) -> int:
    return event[1]
