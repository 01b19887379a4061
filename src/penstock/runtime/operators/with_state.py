"""map_with_state, flat_map_with_state and filter_with_state: one state a key, passed through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import ProgramError, show_value
from penstock.runtime.codec import detach
from penstock.runtime.operators.base import Operator
from penstock.runtime.state.tables import ValueTable


class WithStateOperator(Operator):
    """Call a function with a record and its key's state; it returns a result and the new state."""

    def open(self) -> None:
        """Open the user's function."""
        assert self.backend is not None
        self._table: ValueTable = self.backend.table("state", "value")
        self._keys = self.backend.context
        self._call: Callable[[Any, Any], Any] = self.host(self.spec.function)
        super().open()
        emitters = {"map": self._map, "flat_map": self._flat_map, "filter": self._filter}
        self._take = emitters[self.spec.method]

    def process(self, value: Any) -> None:
        """Take one record."""
        key, table = self._keys.key, self._table
        answer = self._call(value, table.read(key))
        if type(answer) is not tuple or len(answer) != 2:
            raise self._no_pair(answer)
        result, state = answer
        if state is None:
            table.remove(key)
        else:
            table.put(key, detach(state))
        self._take(value, result)

    def _map(self, value: Any, result: Any) -> None:
        self.emit(result)

    def _flat_map(self, value: Any, results: Any) -> None:
        self.emit_results(results)

    def _filter(self, value: Any, keep: Any) -> None:
        if keep:
            self.emit(value)

    def _no_pair(self, answer: Any) -> ProgramError:
        return ProgramError(
            f"the function of {self.spec.method}_with_state() must return a pair",
            where=self.plan.describe(),
            got=show_value(answer),
            todo="return (result, new state); None as new state clears it",
        )
