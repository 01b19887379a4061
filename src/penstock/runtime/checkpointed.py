"""What a `CheckpointedFunction` is told when it gets its state."""

from __future__ import annotations

from penstock.core.functions import FunctionInitializationContext
from penstock.core.state import KeyedStateStore, OperatorStateStore
from penstock.runtime.context import OperatorRuntimeContext


class InitializationContextImpl(FunctionInitializationContext):
    """See `FunctionInitializationContext`."""

    def __init__(self, context: OperatorRuntimeContext) -> None:
        self._context = context

    def is_restored(self) -> bool:
        return self._context.restored

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._context.operator_state

    def get_keyed_state_store(self) -> KeyedStateStore:
        return self._context.keyed_state()
