"""Skip strategies at work: which matches a complete one makes void."""

from __future__ import annotations

from penstock.core.pattern.skip import AfterMatchSkipStrategy, SkipKind
from penstock.errors import SkipTargetError
from penstock.runtime.cep.match_queue import EventId, PartialMatch, remove_if
from penstock.runtime.cep.shared_buffer import SharedBuffer


class Pruner:
    """Removes the matches that began too early."""

    def __init__(self, strategy: AfterMatchSkipStrategy) -> None:
        self._kind = strategy.kind
        self._stage = strategy.pattern_name
        self._throws = strategy.throws_on_miss
        self.skips = strategy.is_skip_strategy()
        #: Whether a match that began with the very event is void as well.
        self._inclusive = self._stage is None

    def prune(
        self, found: dict[str, list[EventId]], buffer: SharedBuffer, matches: list[PartialMatch]
    ) -> None:
        """Remove the matches that are void once `found` is complete."""
        limit = self._limit(found)
        if limit is None:
            return

        def void(match: PartialMatch) -> bool:
            began = match[0]
            if began > limit or (began == limit and not self._inclusive):
                return False
            buffer.release(match[3], match[2])
            return True

        remove_if(matches, void)

    def _limit(self, found: dict[str, list[EventId]]) -> EventId | None:
        if self._kind is SkipKind.SKIP_TO_NEXT:
            return min((events[0] for events in found.values()), default=None)
        if self._kind is SkipKind.SKIP_PAST_LAST_EVENT:
            return max((events[-1] for events in found.values()), default=None)
        assert self._stage is not None
        events = found.get(self._stage)
        if not events:
            if self._throws:
                raise self._missed("the match has no event of the stage that is skipped to")
            return None
        limit = events[0] if self._kind is SkipKind.SKIP_TO_FIRST else events[-1]
        if self._throws and limit == min(min(each) for each in found.values()):
            raise self._missed("the stage that is skipped to has the first event of the match")
        return limit

    def _missed(self, what: str) -> SkipTargetError:
        return SkipTargetError(
            what,
            where=f"AfterMatchSkipStrategy.{self._kind.name.lower()}({self._stage!r})",
            todo="skip to another stage, or leave out throw_exception_on_miss()",
        )
