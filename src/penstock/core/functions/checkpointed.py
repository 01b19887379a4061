"""Functions that keep operator state: state of a subtask, not of a key."""

from __future__ import annotations

from abc import ABC, abstractmethod

from penstock.core.state.stores import KeyedStateStore, OperatorStateStore


class FunctionSnapshotContext:
    """What is known while state is saved."""

    def __init__(self, checkpoint_id: int, time: int) -> None:
        self._checkpoint_id = checkpoint_id
        self._time = time

    def get_checkpoint_id(self) -> int:
        """Return the number of the checkpoint; it grows."""
        return self._checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        """Return the processing time of the checkpoint in epoch milliseconds."""
        return self._time


class FunctionInitializationContext(ABC):
    """What is known while a function gets its state."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Return whether there is state of an earlier run."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """Return where the state of this subtask comes from."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """Return where the state of the current key comes from."""


class CheckpointedFunction(ABC):
    """Mixed into a function, let it save and restore operator state.

    `class BufferingSink(SinkFunction, CheckpointedFunction)`: `initialize_state` asks for a list
    state and fills the buffer from it, `snapshot_state` writes the buffer to it.
    """

    __slots__ = ()

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Bring the state up to date. Called when a checkpoint is made."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Ask for the state and take over what it holds. Called once before `open`."""
