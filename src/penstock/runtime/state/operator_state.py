"""Operator state: lists and maps that belong to a subtask and not to a key.

A list is kept element by element and a map entry by entry, in the same tables and the same log as
keyed state: the cost of a batch follows what changed in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.core.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorStateStore,
    SavedOperatorState,
    StateDescriptor,
)
from penstock.errors import StateError, show_value
from penstock.runtime.codec import dumps, freeze, loads
from penstock.runtime.state.broadcast_state import BroadcastStateHandle
from penstock.runtime.state.handles import KeyContext, ListStateHandle
from penstock.runtime.state.tables import TABLES, Inventory, ListTable, MapTable, Table

#: In front of the names of operator state among the places of an operator.
OPERATOR_PREFIX = "\0operator "
#: The one storage key of a table of operator state.
WHOLE = ()


class _OperatorLists(ListTable):
    """A list that functions write anew with every batch, most often as it was."""

    def replace(self, key: Any, values: Iterable[Any]) -> None:
        """Set the whole list; an empty one removes it."""
        values = list(values)
        # As bytes: 1 and True are equal, but not the same.
        if dumps([freeze(value) for value in values]) != dumps(self.data.get(key, [])):
            super().replace(key, values)


class OperatorListTable(_OperatorLists):
    """A list that is dealt out among the subtasks when their number changes."""

    kind = "operator-list"


class OperatorUnionTable(_OperatorLists):
    """A list of which every subtask gets the whole when their number changes."""

    kind = "operator-union"


class OperatorBroadcastTable(MapTable):
    """A map of which every subtask holds the same copy."""

    kind = "operator-broadcast"


_CALLED = {
    OperatorListTable.kind: "list state",
    OperatorUnionTable.kind: "union list state",
    OperatorBroadcastTable.kind: "broadcast state",
}
_ALL: tuple[type[Table], ...] = (OperatorListTable, OperatorUnionTable, OperatorBroadcastTable)
for table in _ALL:
    TABLES[table.kind] = table


class OperatorStateBackend(OperatorStateStore):
    """Hand out the operator state of one subtask by name and keep what it holds."""

    def __init__(self, operator: str) -> None:
        self._operator = operator
        self._context = KeyContext()
        self._context.key = WHOLE
        self.tables: dict[str, Any] = {}

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListStateHandle:
        """Return a list that is dealt out among the subtasks when parallelism changes."""
        return ListStateHandle(self._described(state_descriptor, OperatorListTable), self._context)

    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListStateHandle:
        """Return a list of which every subtask gets the whole when parallelism changes."""
        return ListStateHandle(self._described(state_descriptor, OperatorUnionTable), self._context)

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastStateHandle:
        """Return a map of which every subtask holds the same copy."""
        return BroadcastStateHandle(self._described(state_descriptor, OperatorBroadcastTable))

    def _described(self, descriptor: StateDescriptor, table: type[Table]) -> Any:
        wanted = MapStateDescriptor if table is OperatorBroadcastTable else ListStateDescriptor
        if not isinstance(descriptor, wanted):
            raise StateError(
                f"a {_CALLED[table.kind]} needs a {wanted.__name__}",
                where=self._operator,
                got=show_value(descriptor),
                todo="pass the descriptor that belongs to the method",
            )
        return self.table(OPERATOR_PREFIX + descriptor.name, table.kind)

    def table(self, place: str, kind: str) -> Any:
        """Return the table of a place, made on first use.

        :raises StateError: if there is another kind of state of that name.
        """
        table = self.tables.get(place)
        if table is None:
            table = self.tables[place] = TABLES[kind]()
        elif table.kind != kind:
            name = place.removeprefix(OPERATOR_PREFIX)
            raise StateError(
                f"operator state {name!r} is a {_CALLED[table.kind]} already, "
                f"it cannot be a {_CALLED[kind]} too",
                where=self._operator,
                todo="give each state of a function its own name",
            )
        return table

    def take_delta(self) -> dict[str, tuple[str, Any]]:
        """Return what changed since the last call: by place, its kind and its delta."""
        return {
            place: (table.kind, delta)
            for place, table in self.tables.items()
            if (delta := table.take_delta()) is not None
        }

    def apply(self, changes: dict[str, tuple[str, Any]]) -> None:
        """Lay that part of a delta over the state which is operator state."""
        for place, (kind, delta) in changes.items():
            if kind in _CALLED:
                self.table(place, kind).apply(delta)

    def inventory(self) -> list[Inventory]:
        """List what there is to be written anew."""
        return [
            (place, table.kind, table.all_keys(), table.dump)
            for place, table in self.tables.items()
            if table.data
        ]


class WholeOperatorState(OperatorStateBackend, SavedOperatorState):
    """Operator state that is saved as a whole, for a function that runs beside the tasks.

    :param saved: what `save` returned before a restart, or None.
    """

    def __init__(self, operator: str, saved: bytes | None) -> None:
        super().__init__(operator)
        if saved is not None:
            self.apply(loads(saved))

    def save(self) -> bytes:
        self.take_delta()  # freezes all entries
        held = self.inventory()
        return dumps({place: (kind, dump(list(keys))) for place, kind, keys, dump in held})


def is_operator_state(kind: str) -> bool:
    """Tell whether a kind of table holds operator state."""
    return kind in _CALLED


def redistribute(kind: str, states: Sequence[Any], parallelism: int) -> list[Any]:
    """Return what each of `parallelism` subtasks gets of the state that others left.

    :param kind: kind of the table.
    :param states: a list for each earlier subtask, or a map for broadcast state.

    >>> redistribute("operator-list", [[1, 2], [3], []], 2)
    [[1, 2], [3]]
    >>> redistribute("operator-union", [[1, 2], [3]], 3)
    [[1, 2, 3], [1, 2, 3], [1, 2, 3]]
    >>> redistribute("operator-broadcast", [{"a": 1}, {"a": 1}], 1)
    [{'a': 1}]
    """
    if kind == OperatorBroadcastTable.kind:
        # Copies are equal: the new subtask i goes on with one that is there.
        return [dict(states[i % len(states)]) if states else {} for i in range(parallelism)]
    elements = [element for state in states for element in state]
    if kind == OperatorUnionTable.kind:
        return [list(elements) for _ in range(parallelism)]
    share, larger = divmod(len(elements), parallelism)
    ends = [share * i + min(i, larger) for i in range(parallelism + 1)]
    return [elements[ends[i] : ends[i + 1]] for i in range(parallelism)]
