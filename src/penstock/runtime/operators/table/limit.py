"""LIMIT without an order, and the end of a batch job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.core.time import MAX_WATERMARK
from penstock.graph.relational.specs import DELETE, INSERT
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.table.join import hashable
from penstock.runtime.operators.table.programs import load_program
from penstock.runtime.state.tables import ValueTable


class LimitOperator(Operator):
    """Keep so many rows. When one of them is taken back, another takes its place."""

    def open(self) -> None:
        """Get the state."""
        assert self.backend is not None
        self._table: ValueTable = self.backend.table("rows", "value")
        self._keys = self.backend.context
        super().open()

    def process(self, value: Any) -> None:
        """Take one row under the current key."""
        self.process_keyed([self._keys.key], None, [value])

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many rows."""
        self.scope.timestamp = None
        if self.spec.changes:
            self.emit_all(self._changes(keys, values))
        else:
            self.emit_all(self._passed(keys, values))

    def _passed(self, keys: list[Any], values: list[Any]) -> Iterator[Any]:
        table, start, end = self._table, self.spec.start, self.spec.end
        for key, row in zip(keys, values, strict=True):
            number = (table.get(key) or 0) + 1
            if number > end:
                continue
            table.put(key, number)
            if number >= start:
                yield row

    def _changes(self, keys: list[Any], values: list[Any]) -> Iterator[Any]:
        table, start, end = self._table, self.spec.start, self.spec.end
        for key, value in zip(keys, values, strict=True):
            row, kind = value[:-1], value[-1]
            rows = table.get(key) or []
            if not kind & 1:
                rows.append(row)
                if start <= len(rows) <= end:
                    yield (*row, INSERT)
            elif row in rows:
                place = rows.index(row)
                if start - 1 <= place < end:
                    yield (*row, DELETE)
                    if len(rows) > end:
                        yield (*rows[end], INSERT)
                del rows[place]
            table.put(key, rows)


class MaterializeOperator(Operator):
    """Apply a changelog to a table and send the table when the input has ended."""

    def open(self) -> None:
        """Load the order."""
        self._order: Any = None
        if self.spec.order is not None:
            self._order = load_program(self, self.spec.order)["order"]
        self._rows: dict[Any, tuple[Any, int]] = {}
        super().open()

    def process(self, value: Any) -> None:
        """Take one change."""
        row, kind = (value[:-1], value[-1]) if self.spec.changes else (value, INSERT)
        name = hashable(row)
        count = self._rows.get(name, (row, 0))[1] + (-1 if kind & 1 else 1)
        if count:
            self._rows[name] = (row, count)
        else:
            del self._rows[name]

    def on_watermark(self, watermark: int) -> None:
        """Send the table in front of the last watermark."""
        if watermark != MAX_WATERMARK:
            return
        rows = [row for row, count in self._rows.values() for _ in range(count)]
        if self._order is not None:
            rows.sort(key=self._order)
        fetch = self.spec.fetch
        end = None if fetch is None else self.spec.offset + fetch
        self.scope.timestamp = None
        self.emit_all(iter(rows[self.spec.offset : end]))
        self._rows = {}

    def snapshot(self) -> dict[str, Any]:
        """Return what the next batch must know."""
        return {**super().snapshot(), "rows": self._rows}

    def restore(self, state: dict[str, Any]) -> None:
        """Undo `snapshot`."""
        super().restore(state)
        self._rows = dict(state["rows"])
