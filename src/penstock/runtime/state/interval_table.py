"""Elements of one side of an interval join: by key, in the order of their times."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Any

from penstock.runtime.codec import thaw
from penstock.runtime.state.tables import TABLES, ListTable


class IntervalTable(ListTable):
    """A list of elements for each `(key, timestamp)`."""

    kind = "interval"
    namespaced = True
    dictionaries = ("data", "_times")

    def __init__(self) -> None:
        super().__init__()
        self._times: dict[Any, list[int]] = {}

    def add(self, key: Any, value: Any) -> None:
        """Append one element."""
        if key not in self.data:
            self._note(key)
        super().add(key, value)

    def between(self, key: Any, begin: int, end: int) -> Iterator[tuple[int, Any]]:
        """Return the elements of a key from `begin` to `end`, both included, with their times."""
        times = self._times.get(key)
        if times is None or times[0] > end or times[-1] < begin:
            return
        for time in times[bisect_left(times, begin) : bisect_right(times, end)]:
            for entry in self.data[key, time]:
                yield time, thaw(entry)

    def remove(self, key: Any) -> None:
        """Forget the elements of a time."""
        if key in self.data:
            self._unnote(key)
        super().remove(key)

    def apply(self, delta: Any) -> None:
        """See `Table.apply`."""
        puts, removes, appends = delta
        for key in removes:
            if key in self.data:
                self._unnote(key)
        for key, _ in (*puts, *appends):
            if key not in self.data:
                self._note(key)
        super().apply(delta)

    def _note(self, key: tuple[Any, int]) -> None:
        owner, time = key
        times = self._times.get(owner)
        if times is None:
            self._times[owner] = [time]
        else:
            insort(times, time)

    def _unnote(self, key: tuple[Any, int]) -> None:
        owner, time = key
        times = self._times[owner]
        del times[bisect_left(times, time)]
        if not times:
            del self._times[owner]


TABLES[IntervalTable.kind] = IntervalTable
