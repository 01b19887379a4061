"""How often a stage of a pattern takes events, and which events may lie between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from penstock.errors import MalformedPatternError


class ConsumingStrategy(Enum):
    """What may lie between an event of a pattern and the one before it."""

    #: Nothing: the very next event.
    STRICT = "strict"
    #: Events that do not match; the next one that does is taken.
    SKIP_TILL_NEXT = "skip till next"
    #: Any events: one that matches is taken and, in another match, passed over.
    SKIP_TILL_ANY = "skip till any"
    #: No event may match until the next stage's does.
    NOT_FOLLOW = "not follow"
    #: The very next event must not match.
    NOT_NEXT = "not next"


class QuantifierKind(Enum):
    """How often a stage takes events."""

    SINGLE = "single"
    TIMES = "times"
    LOOPING = "looping"


@dataclass(frozen=True)
class Times:
    """How many events a stage takes.

    :param from_: at least so many, one or more; a looping stage has no upper bound.
    :param to: at most so many.
    :param window: milliseconds between two of them; None for any time.
    """

    from_: int
    to: int
    window: int | None = None


@dataclass(frozen=True)
class Quantifier:
    """All that a stage says about the number of its events."""

    strategy: ConsumingStrategy
    kind: QuantifierKind = QuantifierKind.SINGLE
    #: What may lie between two events of the stage.
    inner_strategy: ConsumingStrategy = ConsumingStrategy.SKIP_TILL_NEXT
    optional: bool = False
    greedy: bool = False

    @property
    def is_not(self) -> bool:
        """Tell whether the stage says what must not come."""
        return self.strategy in (ConsumingStrategy.NOT_FOLLOW, ConsumingStrategy.NOT_NEXT)

    @property
    def looping(self) -> bool:
        """Tell whether there is no bound to the number of events."""
        return self.kind is QuantifierKind.LOOPING

    def with_inner_strategy(self, strategy: ConsumingStrategy, call: str, where: str) -> Quantifier:
        """Return the quantifier with another strategy between its events.

        :raises MalformedPatternError: on a stage of one event, or if there is one already.
        """
        if self.kind is QuantifierKind.SINGLE:
            raise MalformedPatternError(
                f"{call} needs a stage that takes several events",
                where=where,
                todo="call times(), times_or_more() or one_or_more() first",
            )
        if self.inner_strategy is not ConsumingStrategy.SKIP_TILL_NEXT:
            raise MalformedPatternError(
                "a stage is either consecutive or allows combinations, and says so once",
                where=where,
                got=f"{call} on a stage that is {_INNER_WORDS[self.inner_strategy]} already",
                todo="call one of consecutive() and allow_combinations(), once",
            )
        return replace(self, inner_strategy=strategy)


_INNER_WORDS = {
    ConsumingStrategy.STRICT: "consecutive",
    ConsumingStrategy.SKIP_TILL_ANY: "allowing combinations",
}
