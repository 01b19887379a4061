"""Grouped aggregates: every row updates the result of its group."""

from __future__ import annotations

from typing import Any

from penstock.core.time import MAX_WATERMARK
from penstock.graph.relational.specs import INSERT
from penstock.runtime.codec import Frozen
from penstock.runtime.operators.table.expiring import ExpiringOperator
from penstock.runtime.operators.table.programs import load_program
from penstock.runtime.state.tables import ValueTable


class GroupAggregateOperator(ExpiringOperator):
    """Keep an accumulator a key and send the changes of its result.

    In BATCH mode an aggregate without keys has a result even if there are no rows.
    """

    def open(self) -> None:
        """Load the code."""
        assert self.backend is not None
        self._table: ValueTable = self.backend.table("groups", "value")
        loaded = load_program(self, self.spec.program)
        super().open()
        self._run, self._create, self._result = (
            loaded[name] for name in ("run", "create", "result")
        )

    def process(self, value: Any) -> None:
        """Take one row under the current key."""
        assert self.backend is not None
        self.process_keyed([self.backend.context.key], None, [value])

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many rows, each under its key."""
        table = self._table
        self.scope.timestamp = None
        self.touch(keys)
        self.emit_all(self._run(keys, values, table.data, table.changed, table.get, Frozen))

    def on_watermark(self, watermark: int) -> None:
        """At the end of a batch job, send the result of no rows."""
        ends = self.batch_mode and watermark == MAX_WATERMARK
        if ends and self.spec.is_global and not self._table.data:
            self.emit((*self._result(self._create()), INSERT))
