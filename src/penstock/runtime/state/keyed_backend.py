"""Keyed state and timers of one operator in one slot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.core.state import (
    AggregatingStateDescriptor,
    KeyedStateStore,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.errors import StateError
from penstock.runtime.state.handles import (
    AggregatingStateHandle,
    KeyContext,
    ListStateHandle,
    MapStateHandle,
    ReducingStateHandle,
    ValueStateHandle,
)
from penstock.runtime.state.tables import TABLES, Table
from penstock.runtime.timers import TimerQueue

#: Names under which the two timer queues stand among the tables of a delta.
EVENT_TIMERS, PROCESSING_TIMERS = "\0event", "\0processing"


class KeyedBackend(KeyedStateStore):
    """Hand out state by name and keep what it holds.

    A *place* is a part of the backend that changes and is written on its own: a table or a timer
    queue.
    """

    def __init__(self, operator: str) -> None:
        self._operator = operator
        self.context = KeyContext()
        self.tables: dict[str, Table] = {}
        self.event_timers = TimerQueue()
        self.processing_timers = TimerQueue()

    def table(self, name: str, kind: str) -> Any:
        """Return the table of that name, made on first use.

        :raises StateError: if the name is taken by another kind of state.
        """
        table = self.tables.get(name)
        if table is None:
            table = self.tables[name] = TABLES[kind]()
        elif table.kind != kind:
            raise StateError(
                f"state {name!r} is a {table.kind} already, it cannot be a {kind} too",
                where=self._operator,
                todo="give each state of a function its own name",
            )
        return table

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueStateHandle:
        """Return a value."""
        return ValueStateHandle(self.table(state_descriptor.name, "value"), self.context)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListStateHandle:
        """Return a list."""
        return ListStateHandle(self.table(state_descriptor.name, "list"), self.context)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapStateHandle:
        """Return a map."""
        return MapStateHandle(self.table(state_descriptor.name, "map"), self.context)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingStateHandle:
        """Return a value that is reduced as elements are added."""
        table = self.table(state_descriptor.name, "value")
        reduce = state_descriptor.get_reduce_function()
        return ReducingStateHandle(table, self.context, getattr(reduce, "reduce", reduce))

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingStateHandle:
        """Return an accumulator that grows as elements are added."""
        table = self.table(state_descriptor.name, "value")
        return AggregatingStateHandle(table, self.context, state_descriptor.get_agg_function())

    def take_delta(self) -> dict[str, tuple[str, Any]]:
        """Return what changed since the last call: by place, its kind and its delta."""
        changes = {
            name: (table.kind, delta)
            for name, table in self.tables.items()
            if (delta := table.take_delta()) is not None
        }
        for name, timers in self._queues():
            if (delta := timers.take_delta()) is not None:
                changes[name] = ("timers", delta)
        return changes

    def apply(self, changes: dict[str, tuple[str, Any]]) -> None:
        """Lay a delta over the state."""
        queues = dict(self._queues())
        for name, (kind, delta) in changes.items():
            place = queues[name] if name in queues else self.table(name, kind)
            place.apply(delta)

    def settle(self) -> None:
        """Make everything ready for work after the last `apply`."""
        for _, timers in self._queues():
            timers.settle()

    def inventory(self) -> list[tuple[str, str, list[Any], Callable[[list[Any]], Any]]]:
        """List what there is to be written anew: place, kind, its keys, and how to dump some."""
        parts: list[tuple[str, str, list[Any], Callable[[list[Any]], Any]]] = [
            (name, table.kind, list(table.keys()), table.dump)
            for name, table in self.tables.items()
            if table.data
        ]
        # An empty queue too: it still knows how many timers there have been.
        parts += [
            (name, "timers", queue.timers(), queue.dump)
            for name, queue in self._queues()
            if queue.used
        ]
        return parts

    def _queues(self) -> Iterator[tuple[str, TimerQueue]]:
        yield EVENT_TIMERS, self.event_timers
        yield PROCESSING_TIMERS, self.processing_timers
