"""Conditions as the automaton asks them: plain functions of the event.

Many transitions ask the same question: a stage takes what another passes over. So an answer is kept
for as long as it holds: that of a condition of the event alone for the event, that of an iterative
one for the event and the match.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.pattern.conditions import (
    AndCondition,
    Condition,
    IterativeCondition,
    NotCondition,
    OrCondition,
    SubtypeCondition,
    TrueCondition,
    UserCondition,
)

Check = Callable[[Any], bool]


class Conditions:
    """Turns the conditions of one automaton into functions, and holds their answers."""

    def __init__(self, context: IterativeCondition.Context) -> None:
        self._context = context
        self._checks: dict[int, Check] = {}  # by the identity of the user's function
        #: Answers for the event in hand; whoever brings the next one clears them.
        self.of_event: dict[int, bool] = {}
        #: Answers for the event in hand and the match in hand.
        self.of_match: dict[int, bool] = {}
        #: The user's functions, each once.
        self.functions: list[Any] = []
        #: Whether any condition looks at the match.
        self.iterative = False

    def compile(self, condition: Condition) -> Check | None:
        """Return the condition as a function of the event; None if it always holds."""
        if isinstance(condition, TrueCondition):
            return None
        if isinstance(condition, UserCondition):
            return self._user(condition)
        if isinstance(condition, SubtypeCondition):
            subtype = condition.subtype
            return lambda event: isinstance(event, subtype)
        if isinstance(condition, NotCondition):
            return _negated(self.compile(condition.condition))
        if isinstance(condition, AndCondition):
            return _both(self.compile(condition.left), self.compile(condition.right))
        assert isinstance(condition, OrCondition)
        return _either(self.compile(condition.left), self.compile(condition.right))

    def _user(self, condition: UserCondition) -> Check:
        key = id(condition.function)
        check = self._checks.get(key)
        if check is None:
            self.functions.append(condition.function)
            if condition.iterative:
                self.iterative = True
                check = _iterative(condition.call, self._context, self.of_match, key)
            else:
                check = _simple(condition.call, self.of_event, key)
            self._checks[key] = check
        return check


def _both(left: Check | None, right: Check | None) -> Check | None:
    if left is None or right is None:
        return left if right is None else right
    return lambda event: left(event) and right(event)


def _either(left: Check | None, right: Check | None) -> Check | None:
    if left is None or right is None:
        return None
    return lambda event: left(event) or right(event)


def _negated(check: Check | None) -> Check:
    if check is None:
        return lambda event: False
    return lambda event: not check(event)


def _simple(call: Callable[[Any], Any], answers: dict[int, bool], key: int) -> Check:
    def check(event: Any) -> bool:
        answer = answers.get(key)
        if answer is None:
            answer = answers[key] = bool(call(event))
        return answer

    return check


def _iterative(
    call: Callable[[Any, Any], Any], context: Any, answers: dict[int, bool], key: int
) -> Check:
    def check(event: Any) -> bool:
        answer = answers.get(key)
        if answer is None:
            answer = answers[key] = bool(call(event, context))
        return answer

    return check
