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
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.errors import StateError, show_value
from penstock.runtime.state.handles import (
    AggregatingStateHandle,
    DefaultedValueStateHandle,
    KeyContext,
    ListStateHandle,
    MapStateHandle,
    PlainValueStateHandle,
    ReducingStateHandle,
    ValueStateHandle,
)
from penstock.runtime.state.tables import TABLES, Inventory, Table, ValueTable
from penstock.runtime.state.ttl import ExpiringState, expires, make_view
from penstock.runtime.timers import TimerQueue

#: Names under which the two timer queues stand among the tables of a delta.
EVENT_TIMERS, PROCESSING_TIMERS = "\0event", "\0processing"
#: Kinds of timers: of a key, or of a `(key, namespace)`.
KEY_TIMERS, PANE_TIMERS = "key-timers", "pane-timers"
TIMER_KINDS = (KEY_TIMERS, PANE_TIMERS)

_GETTERS = {
    "value": "get_state",
    "list": "get_list_state",
    "map": "get_map_state",
    "reducing": "get_reducing_state",
    "aggregating": "get_aggregating_state",
}


class KeyedBackend(KeyedStateStore):
    """Hand out state by name and keep what it holds.

    A *place* is a part of the backend that changes and is written on its own: a table or a timer
    queue.
    """

    def __init__(self, operator: str, clock: Callable[[], int] = lambda: 0) -> None:
        self.operator = operator
        self.clock = clock
        self.context = KeyContext()
        self.tables: dict[str, Table] = {}
        #: Views of the tables whose entries expire.
        self.expiring: dict[Table, ExpiringState] = {}
        #: Whom timers belong to; a timer service for functions sets them for keys.
        self.timer_kind = PANE_TIMERS
        self.event_timers = self.make_timers()
        self.processing_timers = self.make_timers(patient=True)

    def table(self, name: str, kind: str) -> Any:
        """Return the table of that name, made on first use.

        :raises StateError: if the name is taken by another kind of state.
        """
        table = self.tables.get(name)
        if table is None:
            table = self.tables[name] = self.make_table(name, kind)
        elif table.kind != kind:
            raise self._taken(name, table.kind, kind)
        return table

    def make_table(self, name: str, kind: str) -> Table:
        """Return a new table; another backend makes others. This one: dictionaries in memory."""
        return TABLES[kind]()

    def make_timers(self, *, patient: bool = False) -> TimerQueue:
        """Return a new queue of timers; another backend makes others."""
        return TimerQueue(patient=patient)

    def flush(self) -> None:
        """Let go of memory between batches; another backend writes to where it holds state."""

    def close(self) -> None:
        """Give back what the backend holds beside memory."""

    def state(self, descriptor: StateDescriptor) -> Any:
        """Return the state that a descriptor of any kind describes."""
        return getattr(self, _GETTERS[descriptor.kind])(descriptor)

    def keys_with(self, descriptor: StateDescriptor) -> list[Any]:
        """Return the keys that have a state, in an order that is the same in every worker."""
        table: Table | None = self.tables.get(descriptor.name)
        if table is None:
            return []
        view = self.expiring.get(table)
        return table.sorted_keys() if view is None else view.sorted_keys()

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueStateHandle:
        """Return a value."""
        values = self.described(state_descriptor, "value", "value")
        if state_descriptor.default_value is not None:
            return DefaultedValueStateHandle(values, self.context, state_descriptor.default_value)
        if isinstance(values, ValueTable):
            return PlainValueStateHandle(values, self.context)
        return ValueStateHandle(values, self.context)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListStateHandle:
        """Return a list."""
        return ListStateHandle(self.described(state_descriptor, "list", "list"), self.context)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapStateHandle:
        """Return a map."""
        return MapStateHandle(self.described(state_descriptor, "map", "map"), self.context)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingStateHandle:
        """Return a value that is reduced as elements are added."""
        values = self.described(state_descriptor, "reducing", "value")
        reduce = state_descriptor.get_reduce_function()
        return ReducingStateHandle(values, self.context, getattr(reduce, "reduce", reduce))

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingStateHandle:
        """Return an accumulator that grows as elements are added."""
        values = self.described(state_descriptor, "aggregating", "value")
        return AggregatingStateHandle(values, self.context, state_descriptor.get_agg_function())

    def described(self, descriptor: StateDescriptor, kind: str, table_kind: str) -> Any:
        """Return the table of a descriptor; a view of it if its entries expire.

        :param kind: what the descriptor must describe.
        :raises StateError: if it describes something else, or the name is taken.
        """
        if getattr(descriptor, "kind", None) != kind:
            raise StateError(
                f"{_GETTERS[kind]}() needs a {kind.capitalize()}StateDescriptor",
                where=self.operator,
                got=show_value(descriptor),
                todo="pass the descriptor that belongs to the method",
            )
        table: Table = self.table(descriptor.name, table_kind)
        if table.described != kind:
            if table.described:
                raise self._taken(descriptor.name, table.described, kind)
            table.described = kind
        if not expires(descriptor):
            return table
        if table not in self.expiring:
            self.expiring[table] = make_view(descriptor, table_kind, self.table, self.clock)
        return self.expiring[table]

    def rows(self) -> int:
        """Return how many entries all tables have together."""
        return sum(len(table.data) for table in self.tables.values())

    def expire(self) -> None:
        """Remove what has expired; called when a batch begins."""
        for view in self.expiring.values():
            view.expire()

    def _taken(self, name: str, present: str, wanted: str) -> StateError:
        return StateError(
            f"state {name!r} is a {present} state already, it cannot be a {wanted} state too",
            where=self.operator,
            todo="give each state of a function its own name",
        )

    def take_delta(self) -> dict[str, tuple[str, Any]]:
        """Return what changed since the last call: by place, its kind and its delta."""
        changes = {
            name: (table.kind, delta)
            for name, table in self.tables.items()
            if (delta := table.take_delta()) is not None
        }
        for name, timers in self._queues():
            if (delta := timers.take_delta()) is not None:
                changes[name] = (self.timer_kind, delta)
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

    def inventory(self) -> list[Inventory]:
        """List what there is to be written anew."""
        parts: list[Inventory] = [
            (name, table.kind, table.all_keys(), table.dump)
            for name, table in self.tables.items()
            if table.data
        ]
        # An empty queue too: it still knows how many timers there have been.
        parts += [
            (name, self.timer_kind, queue.timers(), queue.dump)
            for name, queue in self._queues()
            if queue.used
        ]
        return parts

    def _queues(self) -> Iterator[tuple[str, TimerQueue]]:
        yield EVENT_TIMERS, self.event_timers
        yield PROCESSING_TIMERS, self.processing_timers
