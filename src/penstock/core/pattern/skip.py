"""What happens to other matches once one has been found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum


class SkipKind(Enum):
    """Which event a match lets the search go on from."""

    NO_SKIP = "no skip"
    SKIP_TO_NEXT = "skip to next"
    SKIP_PAST_LAST_EVENT = "skip past last event"
    SKIP_TO_FIRST = "skip to first"
    SKIP_TO_LAST = "skip to last"


@dataclass(frozen=True)
class AfterMatchSkipStrategy:
    """Say which matches are given up once one has been found.

    A match is given up if it began before (or, for the first two that skip, at) a certain event of
    the match that was found. It is the second argument of `Pattern.begin`.

    >>> AfterMatchSkipStrategy.skip_to_first("b").pattern_name
    'b'
    """

    kind: SkipKind
    pattern_name: str | None = None
    throws_on_miss: bool = False

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Emit every match. The default."""
        return AfterMatchSkipStrategy(SkipKind.NO_SKIP)

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Give up the other matches that began with the same event."""
        return AfterMatchSkipStrategy(SkipKind.SKIP_TO_NEXT)

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Give up the matches that began before the match ended."""
        return AfterMatchSkipStrategy(SkipKind.SKIP_PAST_LAST_EVENT)

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Give up the matches that began before the first event of a stage."""
        return AfterMatchSkipStrategy(SkipKind.SKIP_TO_FIRST, pattern_name)

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Give up the matches that began before the last event of a stage."""
        return AfterMatchSkipStrategy(SkipKind.SKIP_TO_LAST, pattern_name)

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """Let the job fail if a match has no event of the stage, or begins with it.

        Only `skip_to_first` and `skip_to_last` can miss. Without this they skip nothing then.
        """
        return replace(self, throws_on_miss=True)

    def is_skip_strategy(self) -> bool:
        """Tell whether any match is ever given up."""
        return self.kind is not SkipKind.NO_SKIP

    def get_pattern_name(self) -> str | None:
        """Return the stage that is skipped to, or None."""
        return self.pattern_name
