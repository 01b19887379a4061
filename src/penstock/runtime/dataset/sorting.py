"""Sort records by several keys, each in its own direction."""

from __future__ import annotations

from typing import Any

from penstock.graph.dataset.keys import SortKey


class Descending:
    """A sort key that turns the order round."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Descending) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and bool(other.value == self.value)

    __hash__ = None  # type: ignore[assignment]


class Sorting:
    """An order of records."""

    def __init__(self, sort: tuple[SortKey, ...]) -> None:
        self._sort = sort
        self._parts = [(each.key.function(), each.order.descends) for each in sort]

    def place(self, record: Any) -> Any:
        """Return what records are compared by."""
        if len(self._parts) == 1:
            function, descends = self._parts[0]
            return Descending(function(record)) if descends else function(record)
        return tuple(
            Descending(function(record)) if descends else function(record)
            for function, descends in self._parts
        )

    def apply(self, records: list[Any]) -> None:
        """Sort a list in place; equal records keep their order."""
        # One stable pass per key, the least important first: what is compared are bare values.
        for each in reversed(self._sort):
            each.key.sort(records, descends=each.order.descends)
