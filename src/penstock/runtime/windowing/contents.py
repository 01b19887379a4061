"""What panes hold: all elements, elements with their timestamps, or one accumulator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.core.windowing import TimestampedValue
from penstock.runtime.codec import Frozen, copied
from penstock.runtime.state.keyed_backend import KeyedBackend
from penstock.runtime.state.pane_tables import PaneListTable, PaneValueTable
from penstock.runtime.windowing.combine import NONE, Combiner
from penstock.runtime.windowing.panes import Pane, merge_lists

#: Name of the table of all kinds of contents.
TABLE = "\0window"


class Contents:
    """Base of what panes hold."""

    table: Any

    def add(self, pane: Pane, value: Any, timestamp: int | None) -> None:
        """Add an element to a pane."""
        raise TypeError("abstract")

    def elements(self, pane: Pane) -> list[Any] | None:
        """Return what the window's function is called with; None if the pane is empty."""
        raise TypeError("abstract")

    def merge(self, target: Pane, sources: list[Pane]) -> None:
        """Move what several panes hold into another."""
        raise TypeError("abstract")

    def clear(self, pane: Pane) -> None:
        """Forget what a pane holds."""
        self.table.remove(pane)


class ElementContents(Contents):
    """All elements, in the order of their arrival."""

    def __init__(self, backend: KeyedBackend) -> None:
        self.table: PaneListTable = backend.table(TABLE, PaneListTable.kind)

    def add(self, pane: Pane, value: Any, timestamp: int | None) -> None:
        self.table.add(pane, value)

    def elements(self, pane: Pane) -> list[Any] | None:
        return self.table.get(pane) or None

    def merge(self, target: Pane, sources: list[Pane]) -> None:
        merge_lists(self.table, target, sources)


class TimedContents(ElementContents):
    """All elements with their timestamps, for an evictor."""

    def add(self, pane: Pane, value: Any, timestamp: int | None) -> None:
        self.table.add(pane, (timestamp, value))

    def timed(self, pane: Pane) -> list[TimestampedValue[Any]]:
        """Return the elements as an evictor sees them."""
        return [TimestampedValue(value, timestamp) for timestamp, value in self.table.get(pane)]

    def replace(self, pane: Pane, elements: Iterable[TimestampedValue[Any]]) -> None:
        """Keep these elements only."""
        self.table.replace(pane, [(each.timestamp, each.value) for each in elements])


class CombinedContents(Contents):
    """One accumulator."""

    def __init__(self, backend: KeyedBackend, combiner: Combiner) -> None:
        self.table: PaneValueTable = backend.table(TABLE, PaneValueTable.kind)
        self.combiner = combiner

    def add(self, pane: Pane, value: Any, timestamp: int | None) -> None:
        # With the table's own dictionaries: this is done for every record of a session.
        table = self.table
        held = table.data.get(pane)
        if held is None:
            held = self.combiner.first(value)
        else:
            if type(held) is Frozen:
                held = table.get(pane)
            held = self.combiner.add(None if held is NONE else held, value)
        table.changed[pane] = None
        table.data[pane] = NONE if held is None else held

    def elements(self, pane: Pane) -> list[Any] | None:
        held = self.table.get(pane)
        if held is None:
            return None
        result = self.combiner.result(None if held is NONE else held)
        # A copy: whoever gets it may change it, and the pane may stay.
        return [copied(result)]

    def merge(self, target: Pane, sources: list[Pane]) -> None:
        table, merge = self.table, self.combiner.merge
        held = table.get(target)
        for pane in sources:
            other = table.get(pane)
            if other is None:
                continue
            if held is None:
                held = other
            else:
                held = merge(None if held is NONE else held, None if other is NONE else other)
                held = NONE if held is None else held
            table.remove(pane)
        if held is not None:
            table.put(target, held)
