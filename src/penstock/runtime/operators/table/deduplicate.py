"""One row a key: the first or the last, in the order of arrival or of a time attribute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.graph.relational.specs import INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.runtime.operators.table.expiring import ExpiringOperator
from penstock.runtime.state.tables import ValueTable


class DeduplicateOperator(ExpiringOperator):
    """Keep the row that counts and tell when another takes its place."""

    def open(self) -> None:
        """Get the state."""
        assert self.backend is not None
        self._keys = self.backend.context
        self._table: ValueTable = self.backend.table("rows", "value")
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
        spec = self.spec
        if spec.time is None and not spec.keep_last:
            self.emit_all(self._firsts(keys, values))
        else:
            self.emit_all(self._changes(keys, values))

    def _firsts(self, keys: list[Any], values: list[Any]) -> Iterator[Any]:
        data, changed = self._table.data, self._table.changed
        for key, row in zip(keys, values, strict=True):
            if key not in data:
                data[key] = True
                changed[key] = None
                yield row

    def _changes(self, keys: list[Any], values: list[Any]) -> Iterator[Any]:
        table, spec = self._table, self.spec
        for key, row in zip(keys, values, strict=True):
            before = table.get(key)
            if before is None:
                table.put(key, row)
                yield (*row, INSERT)
            elif self._replaces(before, row):
                table.put(key, row)
                if spec.update_before:
                    yield (*before, UPDATE_BEFORE)
                yield (*row, UPDATE_AFTER)

    def _replaces(self, before: Any, row: Any) -> bool:
        time = self.spec.time
        if time is None:
            return bool(before != row)
        return bool(row[time] >= before[time])


class NormalizeOperator(DeduplicateOperator):
    """Upserts by key become a full changelog: what was there before is told as well."""

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many changes, each under its key."""
        self.scope.timestamp = None
        self.touch(keys)
        self.emit_all(self._normalized(keys, values))

    def _normalized(self, keys: list[Any], values: list[Any]) -> Iterator[Any]:
        table, update_before = self._table, self.spec.update_before
        for key, value in zip(keys, values, strict=True):
            row, kind = value[:-1], value[-1]
            before = table.get(key)
            if kind & 1:
                if before is not None:
                    table.put(key, None)
                    yield (*before, 3)
            elif before is None:
                table.put(key, row)
                yield (*row, INSERT)
            elif before != row:
                table.put(key, row)
                if update_before:
                    yield (*before, UPDATE_BEFORE)
                yield (*row, UPDATE_AFTER)
