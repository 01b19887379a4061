"""flat_aggregate: a function of the user turns each group into any number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.graph.relational.specs import DELETE, INSERT
from penstock.graph.relational.values import from_user
from penstock.runtime.operators.table.expiring import ExpiringOperator
from penstock.runtime.state.tables import ValueTable


class TableAggregateOperator(ExpiringOperator):
    """Keep an accumulator a key; after each row, take the rows back that were sent and send anew.

    The state of a key is the accumulator, the number of its rows, and what was sent last.
    """

    def open(self) -> None:
        """Open the user's function."""
        assert self.backend is not None
        self._keys = self.backend.context
        self._table: ValueTable = self.backend.table("groups", "value")
        self._function = self.host(self.spec.function.function)
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
        spec, function, table = self.spec, self._function, self._table
        kind_of_row = spec.function.result_type
        for key, row in zip(keys, values, strict=True):
            takes_back = spec.changes and row[spec.width] & 1
            held: Any = table.get(key)
            if held is None:
                if takes_back:
                    continue
                held = (function.create_accumulator(), 0, [])
            accumulator, count, sent = held
            group, args = row[: spec.keys], row[spec.keys : spec.width]
            if takes_back:
                function.retract(accumulator, *args)
            else:
                function.accumulate(accumulator, *args)
            count += -1 if takes_back else 1
            for old in sent:
                yield (*group, *old, DELETE)
            if count == 0:
                table.put(key, None)
                continue
            sent = [_as_row(made, kind_of_row) for made in function.emit_value(accumulator) or ()]
            table.put(key, (accumulator, count, sent))
            for new in sent:
                yield (*group, *new, INSERT)


def _as_row(made: Any, kind: Any) -> tuple[Any, ...]:
    if isinstance(made, tuple | list) or type(made).__name__ == "Row":
        row = from_user(tuple(made), kind)
        return tuple(row)
    return (made,)
