"""Top-N: the first rows of each partition, as changes whenever a row joins or leaves them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any

from penstock.graph.relational.specs import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.runtime.operators.table.expiring import ExpiringOperator
from penstock.runtime.operators.table.programs import load_program
from penstock.runtime.state.tables import ValueTable


class RankOperator(ExpiringOperator):
    """Keep the rows of a partition in order.

    From an input without changes only the first rows are kept; of one with changes, all: any of
    them may become one of the first when another is taken back.
    """

    def open(self) -> None:
        """Load the order."""
        assert self.backend is not None
        spec = self.spec
        self._keys = self.backend.context
        self._table: ValueTable = self.backend.table("rows", "value")
        self._order = load_program(self, spec.order)["order"]
        #: With an offset, which rows are shown depends on their numbers as well.
        self._by_number = spec.with_number or spec.start > 1
        super().open()

    def process(self, value: Any) -> None:
        """Take one row under the current key."""
        self.process_keyed([self._keys.key], None, [value])

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many rows, each under its key."""
        self.scope.timestamp = None
        self.touch(keys)
        self.emit_all(self._changes(keys, values))

    def _changes(self, keys: list[Any], values: list[Any]) -> Iterator[Any]:
        order, table, changes = self._order, self._table, self.spec.changes
        for key, value in zip(keys, values, strict=True):
            row, kind = (value[:-1], value[-1]) if changes else (value, INSERT)
            held = table.get(key)
            if held is None:
                held = ([], [])
            if kind & 1:
                yield from self._take(key, held, order(row), row)
            else:
                yield from self._add(key, held, order(row), row)

    def _add(self, key: Any, held: Any, sort_key: Any, row: Any) -> Iterator[Any]:
        orders, rows = held
        end = self.spec.end
        place = bisect_right(orders, sort_key)
        if place >= end and not self.spec.changes:
            return
        orders.insert(place, sort_key)
        rows.insert(place, row)
        self._table.put(key, held)
        if place >= end:
            return
        if self._by_number:
            yield from self._shifted_down(rows, place)
        else:
            if len(rows) > end:
                yield (*rows[end], DELETE)
            yield (*row, INSERT)
        if not self.spec.changes:
            del orders[end:], rows[end:]

    def _shifted_down(self, rows: list[Any], place: int) -> Iterator[Any]:
        """Tell the new row at each number from `place` on: the rows behind it move by one."""
        end = self.spec.end
        for i in range(place, min(end, len(rows) - 1)):
            yield from self._numbered(rows[i + 1], i + 1, UPDATE_BEFORE)
            yield from self._numbered(rows[i], i + 1, UPDATE_AFTER)
        if len(rows) <= end:
            yield from self._numbered(rows[-1], len(rows), INSERT)

    def _take(self, key: Any, held: Any, sort_key: Any, row: Any) -> Iterator[Any]:
        orders, rows = held
        place = bisect_left(orders, sort_key)
        last = bisect_right(orders, sort_key)
        while place < last and rows[place] != row:
            place += 1
        if place == last:
            return  # it was never there, or its state has expired
        end = self.spec.end
        if place < end:
            if self._by_number:
                yield from self._shifted_up(rows, place)
            else:
                yield (*row, DELETE)
                if len(rows) > end:
                    yield (*rows[end], INSERT)
        del orders[place], rows[place]
        self._table.put(key, held if rows else None)

    def _shifted_up(self, rows: list[Any], place: int) -> Iterator[Any]:
        end = self.spec.end
        for i in range(place, min(end, len(rows) - 1)):
            yield from self._numbered(rows[i], i + 1, UPDATE_BEFORE)
            yield from self._numbered(rows[i + 1], i + 1, UPDATE_AFTER)
        if len(rows) <= end:
            yield from self._numbered(rows[-1], len(rows), DELETE)

    def _numbered(self, row: Any, number: int, kind: int) -> Iterator[Any]:
        spec = self.spec
        if number < spec.start or (kind == UPDATE_BEFORE and not spec.update_before):
            return
        yield (*row, number, kind) if spec.with_number else (*row, kind)
