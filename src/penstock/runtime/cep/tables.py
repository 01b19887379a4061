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
    """The events of each key that are not processed yet, by time.

    An event that is processed in the batch that it came in is never pickled.
    """

    kind = "cep-queue"

    def __init__(self) -> None:
        super().__init__()
        self.data: dict[Any, dict[int, list[Any]]] = {}
        #: The times of each key's events, sorted.
        self.times: dict[Any, list[int]] = {}
        #: Keys and times at which events were added since the last delta.
        self.added: list[tuple[Any, int]] = []
        self._logged: set[tuple[Any, int]] = set()
        self._removed: list[tuple[Any, int]] = []

    def add(self, key: Any, time: int, event: Any) -> bool:
        """Add an event, and tell whether it is the earliest of its key."""
        self.added.append((key, time))
        times = self.times.get(key)
        if times is None:
            self.times[key] = [time]
            self.data[key] = {time: [event]}
            return True
        queue = self.data[key]
        events = queue.get(time)
        if events is not None:
            events.append(event)
            return False
        queue[time] = [event]
        if time > times[-1]:
            times.append(time)
            return False
        insort(times, time)
        return times[0] == time

    def take(self, key: Any, until: int) -> list[tuple[int, list[Any]]]:
        """Remove and return the events of a key up to a time, in the order of their times."""
        times = self.times.get(key)
        if times is None or times[0] > until:
            return []
        queue = self.data[key]
        if times[-1] <= until:
            del self.times[key], self.data[key]
            due = times
        else:
            count = bisect_right(times, until)
            due = times[:count]
            del times[:count]
        if self._logged:
            for time in due:
                if (key, time) in self._logged:
                    self._logged.discard((key, time))
                    self._removed.append((key, time))
        return [(time, [thaw(event) for event in queue.pop(time)]) for time in due]

    def take_delta(self) -> Any:
        """See `Table.take_delta`."""
        puts: dict[tuple[Any, int], list[Any]] = {}
        for key, time in self.added:
            queue = self.data.get(key)
            if queue is not None and time in queue and (key, time) not in puts:
                queue[time] = [freeze(event) for event in queue[time]]
                puts[key, time] = list(queue[time])
        removed = self._removed
        self._logged.update(puts)
        self.added.clear()
        self._removed = []
        return (removed, list(puts.items())) if puts or removed else None

    def apply(self, delta: Any) -> None:
        """See `Table.apply`."""
        removed, puts = delta
        for key, time in removed:
            self._forget(key, time)
        for (key, time), events in puts:
            self._forget(key, time)
            self.data.setdefault(key, {})[time] = list(events)
            insort(self.times.setdefault(key, []), time)
            self._logged.add((key, time))

    def _forget(self, key: Any, time: int) -> None:
        if (key, time) not in self._logged:
            return
        self._logged.discard((key, time))
        times = self.times[key]
        del times[bisect_left(times, time)], self.data[key][time]
        if not times:
            del self.times[key], self.data[key]

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

    def __init__(self) -> None:
        super().__init__()
        self.data: dict[Any, MatchState] = {}
        self._changed: dict[Any, None] = {}
        self._removed: dict[Any, None] = {}

    def put(self, key: Any, state: MatchState) -> None:
        """Keep a state that has changed."""
        self.data[key] = state
        self._changed[key] = None

    def remove(self, key: Any) -> None:
        """Forget a key."""
        state = self.data.pop(key, None)
        if state is not None and state.logged:
            self._removed[key] = None

    def take_delta(self) -> Any:
        """See `Table.take_delta`."""
        data = self.data
        updates = [(key, data[key].take_delta()) for key in self._changed if key in data]
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


for table in (EventQueueTable, MatchTable):
    TABLES[table.kind] = table
