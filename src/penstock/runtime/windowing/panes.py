"""Panes: what one window holds for one key, and where in the state it stands.

A pane is named by `(key, namespace)`. The namespace stands for the window: `(start, end)` for a
time window and None for the global one, which are quick to hash and to write; any other window
stands for itself.
"""

from __future__ import annotations

from typing import Any

from penstock.core.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from penstock.core.windowing import GlobalWindow, TimeWindow
from penstock.errors import StateError
from penstock.runtime.calls import method_of
from penstock.runtime.state.handles import KeyContext
from penstock.runtime.state.keyed_backend import KeyedBackend
from penstock.runtime.state.tables import ListTable, ValueTable

#: (key, namespace)
Pane = tuple[Any, Any]


def namespace_of(window: Any) -> Any:
    """Return what a window is called in the state."""
    kind = type(window)
    if kind is TimeWindow:
        return window.start, window.end
    return None if kind is GlobalWindow else window


def window_of(namespace: Any) -> Any:
    """Undo `namespace_of`."""
    if type(namespace) is tuple:
        return TimeWindow(*namespace)
    return GlobalWindow.get() if namespace is None else namespace


class PaneStore(KeyedBackend):
    """State by key and window, in tables of its own among those of an operator.

    :param prefix: keeps names apart from those of other states of the operator.
    """

    def __init__(self, backend: KeyedBackend, prefix: str) -> None:
        self._backend = backend
        self._prefix = prefix
        self.operator = backend.operator
        self.clock = backend.clock
        self.expiring = backend.expiring
        self.context = KeyContext()

    def table(self, name: str, kind: str) -> Any:
        """Return the table of that name, made on first use."""
        return self._backend.table(self._prefix + name, f"pane-{kind}")

    def merge(self, descriptor: StateDescriptor, target: Pane, sources: list[Pane]) -> None:
        """Merge the state of several panes into that of another.

        :raises StateError: if the kind of state does not say how to merge.
        """
        if isinstance(descriptor, ListStateDescriptor):
            merge_lists(self.table(descriptor.name, "list"), target, sources)
        elif isinstance(descriptor, ReducingStateDescriptor):
            reduce = method_of(descriptor.get_reduce_function(), "reduce")
            merge_values(self.table(descriptor.name, "value"), target, sources, reduce)
        elif isinstance(descriptor, AggregatingStateDescriptor):
            merge = descriptor.get_agg_function().merge
            merge_values(self.table(descriptor.name, "value"), target, sources, merge)
        else:
            raise StateError(
                "only a list, reducing or aggregating state can be merged",
                got=f"{type(descriptor).__name__} {descriptor.name!r}",
                todo="keep what a trigger must remember of merging windows in such a state",
            )


def merge_values(table: ValueTable, target: Pane, sources: list[Pane], merge: Any) -> None:
    """Merge the values of several panes into that of another."""
    held = table.get(target)
    for pane in sources:
        value = table.get(pane)
        if value is not None:
            held = value if held is None else merge(held, value)
            table.remove(pane)
    if held is not None:
        table.put(target, held)


def merge_lists(table: ListTable, target: Pane, sources: list[Pane]) -> None:
    """Put the elements of several panes behind those of another."""
    for pane in sources:
        for value in table.get(pane):
            table.add(target, value)
        table.remove(pane)
