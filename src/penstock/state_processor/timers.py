"""The timers of a savepoint, by whom they belong to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from penstock.runtime.savepoint.snapshot import owner_of
from penstock.runtime.state.keyed_backend import EVENT_TIMERS, PROCESSING_TIMERS
from penstock.state_processor.functions import KeyedStateReaderFunction


class Timers:
    """Timers of keys, or of windows of keys."""

    def __init__(self) -> None:
        self._held: dict[str, dict[Any, set[int]]] = {
            EVENT_TIMERS: defaultdict(set),
            PROCESSING_TIMERS: defaultdict(set),
        }

    def take(self, place: str, delta: Any, kind: str | None = None) -> None:
        """Take the timers of a key group.

        :param kind: if given, they are put down to the keys, whatever else they belong to.
        """
        for timer in delta[1]:
            owner = timer[1] if kind is None else owner_of(kind, timer)
            self._held[place][owner].add(timer[0])

    def owners(self) -> dict[Any, None]:
        """Return all that have timers."""
        return {owner: None for held in self._held.values() for owner in held}

    def event(self, owner: Any) -> set[int]:
        """Return the event-time timers of a key, or of `(key, namespace)`."""
        return set(self._held[EVENT_TIMERS].get(owner, ()))

    def processing(self, owner: Any) -> set[int]:
        """Return the processing-time timers of a key, or of `(key, namespace)`."""
        return set(self._held[PROCESSING_TIMERS].get(owner, ()))


@dataclass(frozen=True)
class KeyTimers(KeyedStateReaderFunction.Context):
    """The timers of one key, as a reader function asks for them."""

    timers: Timers
    key: Any

    def registered_event_time_timers(self) -> set[int]:
        return self.timers.event(self.key)

    def registered_processing_time_timers(self) -> set[int]:
        return self.timers.processing(self.key)
