"""Broadcast process functions in BATCH mode: the whole broadcast side comes before any data.

Data that arrives while there may be more to be broadcast is held back, in state.
"""

from __future__ import annotations

from typing import Any

from penstock.core.time import MAX_WATERMARK
from penstock.graph.plan import PlanOperator
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.broadcast import (
    BroadcastProcessOperator,
    KeyedBroadcastProcessOperator,
)
from penstock.runtime.scope import Scope
from penstock.runtime.state.operator_state import WHOLE, OperatorListTable
from penstock.runtime.state.tables import ListTable

#: Where the data is held.
_PLACE = "\0held"
_BROADCAST_INPUT = 1


class _DataLater(Operator):
    """Hold data back until the broadcast input has ended."""

    _held: ListTable
    _waiting = True

    def process(self, value: Any) -> None:
        """Take one record of the stream with the data."""
        if self._waiting and not self._has_ended():
            self._held.add(self._key(), (self.scope.timestamp, value))
        else:
            super().process(value)

    def end_batch(self) -> None:
        """Work on what was held, if nothing more will be broadcast."""
        if self._waiting:
            self._has_ended()
        super().end_batch()

    def advance_watermark(self, watermark: int) -> None:
        """Work on what was held before the end of time."""
        if watermark == MAX_WATERMARK:
            self._release()
        super().advance_watermark(watermark)

    def _has_ended(self) -> bool:
        if self.input_has_ended(_BROADCAST_INPUT):
            self._release()
        return not self._waiting

    def _release(self) -> None:
        if not self._waiting:
            return
        self._waiting = False
        scope, key, timestamp = self.scope, self._key(), self.scope.timestamp
        for held_key in self._held.sorted_keys():
            self._set_key(held_key)
            for scope.timestamp, value in self._held.get(held_key):
                super().process(value)
            self._held.remove(held_key)
        self._set_key(key)
        scope.timestamp = timestamp

    def _key(self) -> Any:
        return WHOLE if self.backend is None else self.backend.context.key

    def _set_key(self, key: Any) -> None:
        if self.backend is not None:
            self.backend.context.key = key


class BatchBroadcastProcessOperator(_DataLater, BroadcastProcessOperator):
    """A broadcast process function on a stream that is not keyed, in BATCH mode."""

    def open(self) -> None:
        """Open the user's function."""
        self._held = self.context.operator_state.table(_PLACE, OperatorListTable.kind)
        super().open()


class BatchKeyedBroadcastProcessOperator(_DataLater, KeyedBroadcastProcessOperator):
    """A broadcast process function on a keyed stream, in BATCH mode."""

    def open(self) -> None:
        """Open the user's function."""
        assert self.backend is not None
        self._held = self.backend.table(_PLACE, "list")
        super().open()


def make_broadcast_operator(
    plan: PlanOperator, context: OperatorRuntimeContext, scope: Scope
) -> Operator:
    """Choose the operator of a BroadcastProcessSpec."""
    kind = BatchBroadcastProcessOperator if context.batch_mode else BroadcastProcessOperator
    return kind(plan, context, scope)


def make_keyed_broadcast_operator(
    plan: PlanOperator, context: OperatorRuntimeContext, scope: Scope
) -> Operator:
    """Choose the operator of a KeyedBroadcastProcessSpec."""
    if context.batch_mode:
        return BatchKeyedBroadcastProcessOperator(plan, context, scope)
    return KeyedBroadcastProcessOperator(plan, context, scope)
