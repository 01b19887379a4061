"""A priority queue for many entries at a time, made of lists that are sorted as wholes.

A heap pays some comparisons for each entry as it comes and as it goes. Timers come by the thousand
before a watermark takes a thousand of them: to sort lists that are nearly sorted already, at C
speed, costs a fraction of that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from penstock.core.time import MAX_WATERMARK

#: (time, anything)
Entry = tuple[int, Any]

#: So many discarded entries are kept in any case.
_FEW = 1000

_time = itemgetter(0)


class SortedRuns:
    """Entries by time; of equal time, those first that were added first.

    A run is a list with its earliest entry last. Each run is at least twice as long as the next
    newer one: an entry is sorted again a few times only.

    >>> queue = SortedRuns()
    >>> for entry in [(20, "a"), (10, "b"), (20, "c"), (30, "d"), (10, "e")]:
    ...     queue.add(entry)
    >>> queue.discard((10, "e"))
    >>> queue.first_time()
    10
    >>> queue.take(20)
    [(10, 'b'), (20, 'a'), (20, 'c')]
    """

    def __init__(self) -> None:
        self._fresh: list[Entry] = []  # added, not sorted yet
        self._runs: list[list[Entry]] = []  # the newest one last
        #: Entries that were discarded and still stand in a list, and how often: as often, the
        #: first of its kind is to be left out.
        self._gone: dict[Entry, int] = {}
        #: Add one entry. The list's own method: it is called for every timer.
        self.add = self._fresh.append

    def extend(self, entries: Iterable[Entry]) -> None:
        """Add entries."""
        self._fresh.extend(entries)

    def discard(self, entry: Entry) -> None:
        """Remove an entry that is there."""
        gone = self._gone
        gone[entry] = gone.get(entry, 0) + 1
        if len(gone) > _FEW and len(gone) * 2 > len(self._fresh) + sum(map(len, self._runs)):
            self.extend(self.take(MAX_WATERMARK))  # do not let them pile up

    def clear(self) -> None:
        """Remove all entries."""
        self._fresh.clear()
        self._runs.clear()
        self._gone.clear()

    def take(self, until: int) -> list[Entry]:
        """Remove the entries up to and including a time, and return them in order."""
        self._sort_fresh()
        due: list[Entry] = []
        for run in self._runs:
            if run[-1][0] <= until:
                # Times fall along a run: it is searched by the opposite numbers, which rise.
                at = bisect_left(run, -until, key=lambda entry: -entry[0])
                due += reversed(run[at:])
                del run[at:]
        if not due:
            return due
        self._runs = [run for run in self._runs if run]
        due.sort(key=_time)
        return [entry for entry in due if not self._is_gone(entry)] if self._gone else due

    def bound(self, without: int) -> int:
        """Return a time that no entry is before; discarded ones may count.

        :param without: what to return if there are none.
        """
        first = min((run[-1][0] for run in self._runs), default=without)
        return min(first, min(map(_time, self._fresh), default=without))

    def first_time(self) -> int | None:
        """Return the time of the first entry."""
        self._sort_fresh()
        while self._runs:
            entry = min((run[-1] for run in self._runs), key=_time)
            if entry not in self._gone:
                return entry[0]
            if live := self.take(entry[0]):
                self.extend(live)
                return live[0][0]
        return None

    def _is_gone(self, entry: Entry) -> bool:
        times = self._gone.pop(entry, 0)
        if times > 1:
            self._gone[entry] = times - 1
        return times > 0

    def _sort_fresh(self) -> None:
        if not self._fresh:
            return
        run = self._fresh.copy()
        self._fresh.clear()
        while self._runs and len(self._runs[-1]) < 2 * len(run):
            older = self._runs.pop()
            older.reverse()
            run = older + run  # in this order: sorting leaves entries of equal time as they stand
        run.sort(key=_time)
        run.reverse()
        self._runs.append(run)
