"""Where functions get their state from: by key, or for the whole subtask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.core.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.core.state.interfaces import (
    AggregatingState,
    BroadcastState,
    ListState,
    MapState,
    ReducingState,
    ValueState,
)


class KeyedStateStore(ABC):
    """Give access to the state of the current key.

    Each method returns the state of that name, made on first use.

    :raises StateError: outside a keyed stream, or if the name is taken by another kind of state.
    """

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """Return a value."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Return a list."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """Return a map."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """Return a value that is reduced as elements are added."""

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        """Return an accumulator that grows as elements are added."""


class OperatorStateStore(ABC):
    """Give access to state that belongs to a subtask, not to a key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Return a list that is dealt out among the subtasks when parallelism changes."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Return a list of which every subtask gets the whole when parallelism changes."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """Return a map of which every subtask holds the same copy."""


class SavedOperatorState(OperatorStateStore):
    """Operator state of a function that runs beside the tasks: small, and saved as a whole."""

    @abstractmethod
    def save(self) -> bytes:
        """Return everything that is held."""
