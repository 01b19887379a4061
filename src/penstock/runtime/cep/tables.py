"""Tables of keyed state of the CEP operator: events that wait for the watermark, and matches.

Both keep live objects while a batch runs and write only what changed when it ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from typing import Any

from penstock.runtime.cep.match_state import MatchState
from penstock.runtime.codec import freeze, thaw
from penstock.runtime.state.tables import TABLES, Table


class EventQueueTable(Table):
    """The events of each key that are not processed yet.

    Those of this batch wait apart: most are processed before it ends, and are never pickled. What
    is left joins the others when the batch is over.
    """

    kind = "cep-queue"
    dictionaries = ("data", "_times")

    def __init__(self) -> None:
        super().__init__()
        self.data: dict[Any, dict[int, list[Any]]] = {}
        self._times: dict[Any, list[int]] = {}  # of each key's events in `data`, sorted
        self._fresh: dict[Any, list[tuple[int, Any]]] = {}  # sorted by time, then as they came
        self._removed: list[tuple[Any, int]] = []

    def add(self, key: Any, time: int, event: Any) -> bool:
        """Add an event, and tell whether it is earlier than all others of its key."""
        fresh = self._fresh.get(key)
        if fresh is None:
            self._fresh[key] = [(time, event)]
        elif time >= fresh[-1][0]:
            fresh.append((time, event))
            return False
        else:
            insort(fresh, (time, event), key=_time_of)
            if time >= fresh[1][0]:
                return False
        times = self._times.get(key)
        return times is None or time < times[0]

    def first_time(self, key: Any) -> int | None:
        """Return the time of a key's earliest event."""
        times, fresh = self._times.get(key), self._fresh.get(key)
        if times is None:
            return None if fresh is None else fresh[0][0]
        return times[0] if fresh is None else min(times[0], fresh[0][0])

    def take(self, key: Any, until: int) -> list[tuple[int, Any]]:
        """Remove and return the events of a key up to a time, sorted by time.

        Events of the same time are in the order in which they came.
        """
        due = self._take_written(key, until) if key in self._times else []
        fresh = self._fresh.get(key)
        if fresh is None:
            return due
        if fresh[-1][0] <= until:
            del self._fresh[key]
        else:
            count = bisect_right(fresh, until, key=_time_of)
            fresh, rest = fresh[:count], fresh
            del rest[:count]
        return fresh if not due else sorted(due + fresh, key=_time_of)

    def _take_written(self, key: Any, until: int) -> list[tuple[int, Any]]:
        times, queue = self._times[key], self.data[key]
        count = bisect_right(times, until)
        gone = times[:count]
        self._removed += [(key, time) for time in gone]
        due = [(time, thaw(event)) for time in gone for event in queue.pop(time)]
        if queue:
            del times[:count]
        else:
            del self._times[key], self.data[key]
        return due

    def take_delta(self) -> Any:
        """See `Table.take_delta`."""
        puts: dict[tuple[Any, int], list[Any]] = {}
        for key, fresh in self._fresh.items():
            for time, event in fresh:
                puts[key, time] = self._insert(key, time, [freeze(event)])
        removed = self._removed
        self._fresh = {}
        self._removed = []
        if not puts and not removed:
            return None
        return removed, [(place, list(events)) for place, events in puts.items()]

    def _insert(self, key: Any, time: int, events: list[Any]) -> list[Any]:
        queue = self.data.setdefault(key, {})
        waiting = queue.get(time)
        if waiting is None:
            waiting = queue[time] = []
            insort(self._times.setdefault(key, []), time)
        waiting += events
        return waiting

    def apply(self, delta: Any) -> None:
        """See `Table.apply`."""
        removed, puts = delta
        for key, time in removed:
            self._forget(key, time)
        for (key, time), events in puts:
            self._forget(key, time)
            self._insert(key, time, events)

    def _forget(self, key: Any, time: int) -> None:
        queue = self.data.get(key)
        if queue is None or queue.pop(time, None) is None:
            return
        times = self._times[key]
        del times[bisect_left(times, time)]
        if not queue:
            del self._times[key], self.data[key]

    def dump(self, keys: Iterable[Any]) -> Any:
        """See `Table.dump`."""
        puts = [
            ((key, time), list(events))
            for key in keys
            for time, events in self.data.get(key, {}).items()
        ]
        return [], puts


class MatchTable(Table):
    """The matches of each key. Keys without a partial match have no entry."""

    kind = "cep-matches"

    @staticmethod
    def pack(entry: MatchState) -> Any:
        """See `Table.pack`."""
        return entry.dump()

    @staticmethod
    def unpack(packed: Any) -> MatchState:
        """See `Table.unpack`."""
        state = MatchState([])
        state.apply(packed)
        return state

    def __init__(self) -> None:
        super().__init__()
        self.data: dict[Any, MatchState] = {}
        self._changed: dict[Any, None] = {}
        self._removed: dict[Any, None] = {}

    def put(self, key: Any, state: MatchState) -> None:
        """Keep a state that has changed, or whose events were read."""
        self.data[key] = state
        self._changed[key] = None

    def remove(self, key: Any) -> None:
        """Forget a key."""
        state = self.data.pop(key, None)
        if state is not None and state.logged:
            self._removed[key] = None

    def take_delta(self) -> Any:
        """See `Table.take_delta`."""
        updates = []
        for key in self._changed:
            state = self.data.get(key)
            if state is not None and state.changed:
                updates.append((key, state.take_delta()))
            elif state is not None:
                state.buffer.freeze_again()
        removed = list(self._removed)
        self._changed.clear()
        self._removed.clear()
        return (removed, [], updates) if updates or removed else None

    def apply(self, delta: Any) -> None:
        """See `Table.apply`."""
        removed, puts, updates = delta
        for key in removed:
            self.data.pop(key, None)
        for key, whole in puts:
            self.data[key] = MatchState([])
            self.data[key].apply(whole)
        for key, change in updates:
            if key not in self.data:
                self.data[key] = MatchState([])
            self.data[key].apply(change)

    def dump(self, keys: Iterable[Any]) -> Any:
        """See `Table.dump`."""
        data = self.data
        return [], [(key, data[key].dump()) for key in keys if key in data], []


def _time_of(waiting: tuple[int, Any]) -> int:
    return waiting[0]


for table in (EventQueueTable, MatchTable):
    TABLES[table.kind] = table
