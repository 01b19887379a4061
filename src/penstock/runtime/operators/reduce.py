"""Rolling reduce and fold: every record gives the updated result of its key.

In BATCH mode only the last result of each key is sent on, at the end of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

from penstock.core.time import MAX_WATERMARK
from penstock.runtime.calls import method_of
from penstock.runtime.codec import ATOMIC, Frozen, copied, freeze, thaw
from penstock.runtime.operators.base import Operator
from penstock.runtime.state.tables import ValueTable

#: Stands for None, which is a legal result but cannot be held as state.
_NONE = ...


class _RollingOperator(Operator):
    """Keep one value a key and send each new one on."""

    @property
    def one_to_one(self) -> bool:  # type: ignore[override]
        """Whether every record gives one: not if all but the last of each key are held back."""
        return not self.batch_mode

    def open(self) -> None:
        """Open the user's function."""
        assert self.backend is not None
        self._table: ValueTable = self.backend.table("rolling", "value")
        self._keys = self.backend.context
        function = self.host(self.spec.function)
        super().open()
        self._call = method_of(function, self.method)
        self._check: Callable[[Any], None] | None = getattr(function, "check", None)

    method = ""

    def on_watermark(self, watermark: int) -> None:
        """In BATCH mode, send the results in front of the last watermark: behind it all is late."""
        if self.batch_mode and watermark == MAX_WATERMARK:
            self.scope.timestamp = None
            for key in self._table.sorted_keys():
                result = self._table.get(key)
                self._send(None if result is _NONE else result)

    def _hold(self, key: Any, result: Any) -> None:
        self._table.put(key, _NONE if result is None else result)
        if not self.batch_mode:
            self._send(result)

    def _send(self, result: Any) -> None:
        # An operator of the same task could change the object in place, and with it the state. An
        # exchange takes its own copy.
        self.emit(copied(result) if self.output.local else result)


class ReduceOperator(_RollingOperator):
    """Combine each record with the result so far."""

    method = "reduce"

    def process(self, value: Any) -> None:
        """Take one record."""
        self.process_keyed([self._keys.key], [self.scope.timestamp], [value])

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many records, each under its key."""
        results = self._results(keys, repeat(None) if timestamps is None else timestamps, values)
        if self.batch_mode:
            for _ in results:
                pass
        else:
            self.emit_all(results)

    def _results(self, keys: list[Any], timestamps: Any, values: list[Any]) -> Iterator[Any]:
        # One loop with as few calls as can be: this is what most jobs do most.
        table, call, context, scope = self._table, self._call, self._keys, self.scope
        data, changed, local = table.data, table.changed, self.output.local
        for key, scope.timestamp, value in zip(keys, timestamps, values, strict=False):
            context.key = key
            held = data.get(key)
            if held is not None:
                if type(held) is Frozen:
                    held = table.get(key)
                value = call(None if held is _NONE else held, value)
            elif self._check is not None:
                self._check(value)
            changed[key] = None
            data[key] = _NONE if value is None else value
            if local:
                # As `copied` does it, but for the call where there is nothing to copy.
                if type(value) is tuple:
                    for item in value:
                        if type(item) not in ATOMIC:
                            value = copied(value)
                            break
                elif type(value) not in ATOMIC:
                    value = copied(value)
            yield value


class FoldOperator(_RollingOperator):
    """Combine each record with the result so far, beginning with an initial value."""

    method = "fold"

    def open(self) -> None:
        """Open the user's function."""
        super().open()
        self._initial = freeze(self.spec.initial)

    def process(self, value: Any) -> None:
        """Take one record."""
        key, table = self._keys.key, self._table
        held = table.get(key)
        before = thaw(self._initial) if held is None else None if held is _NONE else held
        self._hold(key, self._call(before, value))
