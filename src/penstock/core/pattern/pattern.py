"""Patterns: what to look for in a stream of events.

A pattern is a chain of stages. Each `next`, `followed_by` ... makes a new stage behind the one that
it is called on; all other methods say something about the stage itself and return it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from typing import Any, NoReturn

from penstock.common.time import Duration, Time, to_milliseconds
from penstock.core.pattern.conditions import (
    TRUE,
    AndCondition,
    Condition,
    IterativeCondition,
    OrCondition,
    SimpleCondition,
    SubtypeCondition,
    make_condition,
)
from penstock.core.pattern.quantifier import (
    ConsumingStrategy,
    Quantifier,
    QuantifierKind,
    Times,
)
from penstock.core.pattern.skip import AfterMatchSkipStrategy
from penstock.errors import MalformedPatternError, show_value

Span = Duration | Time | timedelta | int
UserFilter = Callable[..., Any] | IterativeCondition[Any] | SimpleCondition[Any]

#: Divides a stage's name from a number in the names of an automaton's states.
STATE_NAME_DELIMITER = ":"
ENDING_STATE_NAME = "$endState$"


class WithinType(Enum):
    """Between which events of a match the time of `within` may pass."""

    #: The event before and the one of this stage.
    PREVIOUS_AND_CURRENT = 0
    #: The first and the last event of the match.
    FIRST_AND_LAST = 1


class Pattern:
    """A stage of a pattern and, through `get_previous`, those in front of it.

    >>> from penstock.cep.testing import match
    >>> rise = Pattern.begin("low").where(lambda v: v < 10).next("high").where(lambda v: v > 90)
    >>> match(rise, [(5, 0), (95, 1), (50, 2)])
    [{'low': [5], 'high': [95]}]
    """

    def __init__(
        self,
        name: str,
        previous: Pattern | None,
        strategy: ConsumingStrategy,
        skip_strategy: AfterMatchSkipStrategy,
    ) -> None:
        self._name = name
        self._previous = previous
        self._condition: Condition | None = None
        self._until: Condition | None = None
        self._windows: dict[WithinType, int] = {}
        self._quantifier = Quantifier(strategy)
        self._times: Times | None = None
        self._skip_strategy = skip_strategy

    # ---- stages ------------------------------------------------------------------------------

    @staticmethod
    def begin(
        name_or_group: str | Pattern, skip_strategy: AfterMatchSkipStrategy | None = None
    ) -> Pattern:
        """Begin a pattern.

        :param name_or_group: the name of its first stage, or a whole pattern as its first part.
        :param skip_strategy: what a match does to others; nothing by default.
        """
        strategy = AfterMatchSkipStrategy.no_skip() if skip_strategy is None else skip_strategy
        if not isinstance(strategy, AfterMatchSkipStrategy):
            raise MalformedPatternError(
                "begin() needs a skip strategy as its second argument",
                got=show_value(skip_strategy),
                todo="pass AfterMatchSkipStrategy.skip_past_last_event() or one of its like",
            )
        return _stage(name_or_group, None, ConsumingStrategy.STRICT, strategy)

    def next(self, name_or_group: str | Pattern) -> Pattern:
        """Expect the very next event to match."""
        return self._then(name_or_group, ConsumingStrategy.STRICT)

    def followed_by(self, name_or_group: str | Pattern) -> Pattern:
        """Expect an event that matches; others that do not may come first."""
        return self._then(name_or_group, ConsumingStrategy.SKIP_TILL_NEXT)

    def followed_by_any(self, name_or_group: str | Pattern) -> Pattern:
        """Expect an event that matches, and in further matches each later one that does."""
        return self._then(name_or_group, ConsumingStrategy.SKIP_TILL_ANY)

    def not_next(self, name: str) -> Pattern:
        """Expect the very next event not to match."""
        return self._then_not("not_next()", name, ConsumingStrategy.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern:
        """Expect no event that matches until the next stage's does.

        As the last stage it needs a `within`: the match is complete when that time is up.
        """
        return self._then_not("not_followed_by()", name, ConsumingStrategy.NOT_FOLLOW)

    def _then(self, name_or_group: str | Pattern, strategy: ConsumingStrategy) -> Pattern:
        return _stage(name_or_group, self, strategy, self._skip_strategy)

    def _then_not(self, call: str, name: str, strategy: ConsumingStrategy) -> Pattern:
        if self._quantifier.optional:
            raise MalformedPatternError(
                f"{call} cannot stand behind an optional stage",
                where=self.describe(),
                todo="use two patterns, one with and one without the optional stage",
            )
        if isinstance(name, Pattern):
            raise MalformedPatternError(
                f"{call} takes the name of a stage, not a group",
                where=self.describe(),
                todo="describe what must not come by the condition of one stage",
            )
        return self._then(name, strategy)

    # ---- conditions --------------------------------------------------------------------------

    def where(self, condition: UserFilter) -> Pattern:
        """Accept only events for which the condition, and those given before, hold.

        :param condition: a function of the event, or of the event and an
            `IterativeCondition.Context`; or an object of one of the condition classes.
        """
        added = make_condition("where()", condition, self.describe())
        self._condition = added if self._condition is None else AndCondition(self._condition, added)
        return self

    def or_(self, condition: UserFilter) -> Pattern:
        """Accept also events for which this condition holds."""
        added = make_condition("or_()", condition, self.describe())
        self._condition = added if self._condition is None else OrCondition(self._condition, added)
        return self

    def subtype(self, subtype_class: type) -> Pattern:
        """Accept only objects of a class."""
        if not isinstance(subtype_class, type):
            raise MalformedPatternError(
                "subtype() needs a class",
                where=self.describe(),
                got=show_value(subtype_class),
                todo="pass the class that the events of this stage have",
            )
        return self.where(SubtypeCondition(subtype_class))  # type: ignore[arg-type]

    def until(self, until_condition: UserFilter) -> Pattern:
        """End a looping stage at the first event for which the condition holds.

        :raises MalformedPatternError: if the stage does not loop, or has such a condition.
        """
        if self._until is not None:
            raise MalformedPatternError(
                "a stage has one until() condition at most",
                where=self.describe(),
                todo="join the conditions into one function",
            )
        if not self._quantifier.looping:
            raise MalformedPatternError(
                "until() needs a looping stage",
                where=self.describe(),
                todo="call one_or_more() or times_or_more() first",
            )
        self._until = make_condition("until()", until_condition, self.describe())
        return self

    def within(
        self, window_time: Span | None, within_type: WithinType = WithinType.FIRST_AND_LAST
    ) -> Pattern:
        """Give matches up whose time is up.

        :param window_time: milliseconds or a span, above zero: a match must have its last event
            before so much time has passed. The shortest of several holds for the whole pattern.
        :param within_type: between the first and the last event of a match, or between the event
            before and the one of this stage.
        """
        if window_time is not None:
            self._windows[within_type] = self._span("within()", window_time)
        return self

    # ---- how often ---------------------------------------------------------------------------

    def optional(self) -> Pattern:
        """Let the stage have no event at all.

        :raises MalformedPatternError: for what must not come, or behind a greedy stage.
        """
        if self._previous is not None and self._previous._quantifier.greedy:
            raise MalformedPatternError(
                "an optional stage cannot stand behind a greedy one",
                where=self.describe(),
                todo="leave out greedy() of the stage before, or optional() of this one",
            )
        if self._quantifier.optional:
            raise MalformedPatternError(
                "the stage is optional already",
                where=self.describe(),
                todo="call optional() once; times(0, n) says it too",
            )
        self._refuse_not("optional()")
        self._quantifier = replace(self._quantifier, optional=True)
        return self

    def one_or_more(self, window: Span | None = None) -> Pattern:
        """Take one event or more.

        :param window: time that may pass between two of them.
        """
        return self._repeat("one_or_more()", QuantifierKind.LOOPING, 1, 1, window)

    def times_or_more(self, times: int, window: Span | None = None) -> Pattern:
        """Take so many events or more."""
        return self._repeat("times_or_more()", QuantifierKind.LOOPING, times, times, window)

    def times(self, from_: int, to: int | None = None, window: Span | None = None) -> Pattern:
        """Take exactly `from_` events, or from `from_` to `to` of them.

        :param from_: with `to` it may be zero: the stage is optional then.
        :param window: time that may pass between two of them.
        """
        optional = from_ == 0 and to is not None
        first = 1 if optional else from_
        repeated = self._repeat(
            "times()", QuantifierKind.TIMES, first, from_ if to is None else to, window
        )
        if optional:
            self._quantifier = replace(self._quantifier, optional=True)
        return repeated

    def _repeat(
        self, call: str, kind: QuantifierKind, from_: int, to: int, window: Span | None
    ) -> Pattern:
        self._refuse_not(call)
        if self._quantifier.kind is not QuantifierKind.SINGLE:
            raise MalformedPatternError(
                "the stage says already how often it takes events",
                where=self.describe(),
                got=f"{call} on a {self._quantifier.kind.value} stage",
                todo="call one of times(), times_or_more() and one_or_more(), once",
            )
        for number in (from_, to):
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise MalformedPatternError(
                    f"{call} needs a number above zero",
                    where=self.describe(),
                    got=show_value(number),
                    todo="pass 1 or more; times(0, n) and optional() allow for none",
                )
        if to < from_:
            raise MalformedPatternError(
                "times() needs a second number that is not below the first",
                where=self.describe(),
                got=f"times({from_}, {to})",
                todo="pass the smaller number first",
            )
        span = None if window is None else self._span(call, window)
        # As in Flink, all that was said about the number before is gone with it.
        self._quantifier = Quantifier(self._quantifier.strategy, kind)
        self._times = Times(from_, to, span)
        return self

    def greedy(self) -> Pattern:
        """Take as many events as there are: events that match never go to the next stage.

        :raises MalformedPatternError: for a group, for what must not come, for a stage of one
            event, or for one that allows combinations.
        """
        self._refuse_not("greedy()")
        if self._quantifier.inner_strategy is ConsumingStrategy.SKIP_TILL_ANY:
            raise MalformedPatternError(
                "greedy() has no meaning for a stage that allows combinations",
                where=self.describe(),
                todo="call one of greedy() and allow_combinations()",
            )
        if self._quantifier.kind is QuantifierKind.SINGLE:
            raise MalformedPatternError(
                "greedy() needs a stage that takes several events",
                where=self.describe(),
                todo="call times(), times_or_more() or one_or_more() first",
            )
        self._quantifier = replace(self._quantifier, greedy=True)
        return self

    def consecutive(self) -> Pattern:
        """Let no other event lie between the events of this stage."""
        self._quantifier = self._quantifier.with_inner_strategy(
            ConsumingStrategy.STRICT, "consecutive()", self.describe()
        )
        return self

    def allow_combinations(self) -> Pattern:
        """Let matches leave out events of this stage that match: all combinations are found."""
        self._quantifier = self._quantifier.with_inner_strategy(
            ConsumingStrategy.SKIP_TILL_ANY, "allow_combinations()", self.describe()
        )
        return self

    # ---- what the pattern says ---------------------------------------------------------------

    def get_name(self) -> str:
        """Return the name of the stage."""
        return self._name

    def get_previous(self) -> Pattern | None:
        """Return the stage in front, None for the first."""
        return self._previous

    def get_quantifier(self) -> Quantifier:
        """Return how often the stage takes events."""
        return self._quantifier

    def get_times(self) -> Times | None:
        """Return how many events the stage takes, None for one."""
        return self._times

    def get_condition(self) -> Condition:
        """Return the condition of the stage."""
        return TRUE if self._condition is None else self._condition

    def get_until_condition(self) -> Condition | None:
        """Return the condition that ends the loop."""
        return self._until

    def get_window_size(self, within_type: WithinType = WithinType.FIRST_AND_LAST) -> int | None:
        """Return the milliseconds that the stage's `within` says."""
        return self._windows.get(within_type)

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """Return what a match does to others."""
        return self._skip_strategy

    def stages(self) -> Iterator[Pattern]:
        """Return the stages of this chain, the last one first; groups are not entered."""
        stage: Pattern | None = self
        while stage is not None:
            yield stage
            stage = stage._previous

    def describe(self) -> str:
        """Return the pattern up to this stage in words, for error messages."""
        parts = [stage._title() for stage in self.stages()]
        return "pattern " + " -> ".join(reversed(parts))

    def _title(self) -> str:
        return repr(self._name)

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def _refuse_not(self, call: str) -> None:
        if self._quantifier.is_not:
            raise MalformedPatternError(
                f"{call} has no meaning for what must not come",
                where=self.describe(),
                todo="leave it out behind not_next() and not_followed_by()",
            )

    def _span(self, call: str, span: Span) -> int:
        milliseconds = to_milliseconds(span)
        if milliseconds <= 0:
            raise MalformedPatternError(
                f"{call} needs a time above zero",
                where=self.describe(),
                got=f"{milliseconds} ms",
                todo="pass a Duration, a Time, a timedelta or milliseconds",
            )
        return milliseconds


class GroupPattern(Pattern):
    """A whole pattern that stands where a stage stands."""

    def __init__(
        self,
        group: Pattern,
        previous: Pattern | None,
        strategy: ConsumingStrategy,
        skip_strategy: AfterMatchSkipStrategy,
    ) -> None:
        super().__init__("GroupPattern", previous, strategy, skip_strategy)
        self._group = group

    def get_raw_pattern(self) -> Pattern:
        """Return the last stage of the group's own pattern."""
        return self._group

    def where(self, condition: UserFilter) -> NoReturn:
        """Refuse: a group has no condition of its own."""
        self._refuse("where()")

    def or_(self, condition: UserFilter) -> NoReturn:
        """Refuse: a group has no condition of its own."""
        self._refuse("or_()")

    def subtype(self, subtype_class: type) -> NoReturn:
        """Refuse: a group has no condition of its own."""
        self._refuse("subtype()")

    def greedy(self) -> NoReturn:
        """Refuse: only single stages can be greedy."""
        self._refuse("greedy()")

    def _title(self) -> str:
        inner = " -> ".join(reversed([stage._title() for stage in self._group.stages()]))
        return f"({inner})"

    def _refuse(self, call: str) -> NoReturn:
        raise MalformedPatternError(
            f"{call} cannot be called on a group",
            where=self.describe(),
            todo=f"call {call} on the stages inside the group",
        )


def all_names(pattern: Pattern) -> list[str]:
    """Return the names of all stages of a pattern, also those inside of groups."""
    names: list[str] = []
    for stage in pattern.stages():
        if isinstance(stage, GroupPattern):
            names += all_names(stage.get_raw_pattern())
        else:
            names.append(stage.get_name())
    return names


def _stage(
    name_or_group: str | Pattern,
    previous: Pattern | None,
    strategy: ConsumingStrategy,
    skip_strategy: AfterMatchSkipStrategy,
) -> Pattern:
    if isinstance(name_or_group, Pattern):
        stage: Pattern = GroupPattern(name_or_group, previous, strategy, skip_strategy)
        added = all_names(name_or_group)
    else:
        stage = Pattern(name_or_group, previous, strategy, skip_strategy)
        added = [_checked_name(stage, name_or_group)]
    present = set() if previous is None else set(all_names(previous))
    for name in added:
        if name in present:
            raise MalformedPatternError(
                "two stages of a pattern have the same name",
                where=stage.describe(),
                got=repr(name),
                todo="give each stage its own name, also inside of groups",
            )
    return stage


def _checked_name(stage: Pattern, name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise MalformedPatternError(
            "a stage needs a name, or a pattern as a group",
            where=stage.describe(),
            got=show_value(name),
            todo="pass a string that is not empty",
        )
    if STATE_NAME_DELIMITER in name or name == ENDING_STATE_NAME:
        raise MalformedPatternError(
            "a stage cannot have this name",
            where=stage.describe(),
            got=repr(name),
            todo=f"use a name without {STATE_NAME_DELIMITER!r} that is not {ENDING_STATE_NAME!r}",
        )
    return name
