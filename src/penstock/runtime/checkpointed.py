"""What a `CheckpointedFunction` is told when it gets its state and when it saves it."""

from __future__ import annotations

from penstock.core.functions import FunctionInitializationContext, FunctionSnapshotContext
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


class SnapshotContextImpl(FunctionSnapshotContext):
    """See `FunctionSnapshotContext`. Every batch is a checkpoint."""

    def __init__(self, checkpoint_id: int, time: int) -> None:
        self._checkpoint_id = checkpoint_id
        self._time = time

    def get_checkpoint_id(self) -> int:
        return self._checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        return self._time
