"""What an automaton knows of one key."""

from __future__ import annotations

from typing import Any

from penstock.runtime.cep.match_queue import EventId, PartialMatch
from penstock.runtime.cep.shared_buffer import SharedBuffer


class MatchState:
    """Partial matches, complete ones that must wait, and their events."""

    __slots__ = ("buffer", "changed", "completed", "last_time", "logged", "partial", "same_time")

    def __init__(self, partial: list[PartialMatch]) -> None:
        self.partial = partial
        self.completed: list[PartialMatch] = []
        self.buffer = SharedBuffer()
        #: The time of the last event that was numbered, and how many of that time there were.
        self.last_time = 0
        self.same_time = 0
        #: Whether anything changed since it was last written, and whether it ever was.
        self.changed = False
        self.logged = False

    def next_event_id(self, time: int) -> EventId:
        """Return the id of the next event: events of the same time are counted."""
        if time != self.last_time:
            self.last_time, self.same_time = time, 0
        self.same_time += 1
        return time, self.same_time - 1

    def take_delta(self) -> Any:
        """Return what changed since the last call, and freeze all events."""
        self.changed = False
        self.logged = True
        return (*self._heads(), self.buffer.take_delta())

    def apply(self, delta: Any) -> None:
        """Lay a delta over the state."""
        partial, completed, self.last_time, self.same_time, buffer = delta
        self.partial, self.completed = list(partial), list(completed)
        self.buffer.apply(buffer)
        self.logged = True

    def dump(self) -> Any:
        """Return all there is as a delta. Events must be frozen."""
        return (*self._heads(), self.buffer.dump())

    def _heads(self) -> tuple[Any, ...]:
        return tuple(self.partial), tuple(self.completed), self.last_time, self.same_time
