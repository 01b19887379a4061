"""Tables of what sliding windows share: storage keys are `(key, number of the slice)`."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from typing import Any

from penstock.runtime.codec import freeze
from penstock.runtime.state.tables import TABLES, ListTable, ValueTable


class _SliceIndex:
    """Which slices each key has, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.slices: dict[Any, list[int]] = {}
        #: Called with a key whose slices were changed by another worker.
        self.on_change: Callable[[Any], None] = lambda key: None
        #: Called when what can be worked out again is to be forgotten.
        self.on_let_go: Callable[[], None] = lambda: None

    def let_go(self) -> None:
        """See `Table.let_go`."""
        self.on_let_go()

    def open(self, pane: tuple[Any, int]) -> None:
        """Take note of a new slice."""
        key, number = pane
        numbers = self.slices.get(key)
        if numbers is None:
            self.slices[key] = [number]
        elif number > numbers[-1]:
            numbers.append(number)
        else:
            insort(numbers, number)

    def _close(self, pane: tuple[Any, int]) -> None:
        key, number = pane
        numbers = self.slices[key]
        del numbers[bisect_left(numbers, number)]
        if not numbers:
            del self.slices[key]

    def _apply_index(self, written: Iterable[Any], removed: Iterable[Any]) -> None:
        for pane in written:
            numbers = self.slices.get(pane[0], ())
            at = bisect_left(numbers, pane[1])
            if at == len(numbers) or numbers[at] != pane[1]:
                self.open(pane)
            self.on_change(pane[0])
        for pane in removed:
            numbers = self.slices.get(pane[0], ())
            at = bisect_left(numbers, pane[1])
            if at < len(numbers) and numbers[at] == pane[1]:
                self._close(pane)
            self.on_change(pane[0])


class SliceValueTable(_SliceIndex, ValueTable):
    """One accumulator a slice."""

    kind = "slice-value"
    namespaced = True
    dictionaries = ("data", "slices")

    def remove(self, key: Any) -> None:
        """Forget a slice."""
        super().remove(key)
        self._close(key)

    def apply(self, delta: Any) -> None:
        """See `Table.apply`."""
        super().apply(delta)
        written, _, removed = delta
        self._apply_index(written, removed)


class SliceListTable(_SliceIndex, ListTable):
    """The elements of a slice, each with a number that rises in the order of arrival."""

    kind = "slice-list"
    namespaced = True
    dictionaries = ("data", "slices")

    def __init__(self) -> None:
        super().__init__()
        self._serials: dict[Any, int] = {}

    def add(self, key: Any, value: Any) -> None:
        """Append one element to a slice."""
        entries = self.data.get(key)
        if entries is None:
            entries = self.data[key] = []
            self._replaced.add(key)
        elif key not in self._appended:
            self._appended[key] = len(entries)
        entries.append((self._next_serial(key[0]), freeze(value)))

    def let_go(self) -> None:
        """See `Table.let_go`."""
        super().let_go()
        self._serials.clear()

    def _next_serial(self, key: Any) -> int:
        serial = self._serials.get(key)
        if serial is None:
            slices = (self.data[key, number] for number in self.slices.get(key, ()))
            serial = max((entries[-1][0] for entries in slices if entries), default=-1) + 1
        self._serials[key] = serial + 1
        return serial

    def remove(self, key: Any) -> None:
        """Forget a slice."""
        super().remove(key)
        self._close(key)
        if key[0] not in self.slices:
            self._serials.pop(key[0], None)

    def apply(self, delta: Any) -> None:
        """See `Table.apply`."""
        puts, removes, appends = delta
        super().apply(delta)
        written = [pane for pane, _ in (*puts, *appends)]
        self._apply_index(written, removes)
        for key, _ in written:
            self._serials.pop(key, None)


for table in (SliceValueTable, SliceListTable):
    TABLES[table.kind] = table
