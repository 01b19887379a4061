"""Operator state of a source function, which runs in the user's process.

It is small and saved whole, together with the records that the function has sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.core.functions.checkpointed import FunctionInitializationContext
from penstock.core.pickling import dumps, loads
from penstock.core.state.descriptors import ListStateDescriptor, MapStateDescriptor
from penstock.core.state.interfaces import BroadcastState, ListState
from penstock.core.state.stores import KeyedStateStore, OperatorStateStore
from penstock.errors import StateError


class _PlainList(ListState[Any]):
    """A list in memory."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def get(self) -> Iterable[Any]:
        return list(self._values)

    def add(self, value: Any) -> None:
        self._values.append(value)

    def add_all(self, values: list[Any]) -> None:
        self._values.extend(values)

    def update(self, values: list[Any]) -> None:
        self._values[:] = list(values)

    def clear(self) -> None:
        self._values.clear()

    def __iter__(self) -> Any:
        return iter(self.get())


class _PlainMap(BroadcastState[Any, Any]):
    """A map in memory."""

    def __init__(self, entries: dict[Any, Any]) -> None:
        self._entries = entries

    def get(self, key: Any) -> Any:
        return self._entries.get(key)

    def put(self, key: Any, value: Any) -> None:
        self._entries[key] = value

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        self._entries.update(dict_value)

    def remove(self, key: Any) -> None:
        self._entries.pop(key, None)

    def contains(self, key: Any) -> bool:
        return key in self._entries

    def items(self) -> Iterable[tuple[Any, Any]]:
        return list(self._entries.items())

    def keys(self) -> Iterable[Any]:
        return list(self._entries)

    def values(self) -> Iterable[Any]:
        return list(self._entries.values())

    def is_empty(self) -> bool:
        return not self._entries

    def clear(self) -> None:
        self._entries.clear()


class SourceStateStore(OperatorStateStore):
    """Lists and maps of one subtask, by name.

    :param saved: what `save` returned before a restart, or None.
    """

    def __init__(self, source: str, saved: bytes | None) -> None:
        self._source = source
        self._held: dict[str, tuple[str, Any]] = {} if saved is None else loads(saved)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        return _PlainList(self._get(state_descriptor.name, "list state", []))

    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        return _PlainList(self._get(state_descriptor.name, "union list state", []))

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        return _PlainMap(self._get(state_descriptor.name, "broadcast state", {}))

    def save(self) -> bytes:
        """Return everything that is held."""
        return dumps(self._held)

    def _get(self, name: str, kind: str, empty: Any) -> Any:
        present, content = self._held.setdefault(name, (kind, empty))
        if present != kind:
            raise StateError(
                f"operator state {name!r} is a {present} already, it cannot be a {kind} too",
                where=f"source {self._source!r}",
                todo="give each state of a function its own name",
            )
        return content


class SourceInitialization(FunctionInitializationContext):
    """What a source function is told when it gets its state."""

    def __init__(self, store: OperatorStateStore, keyed: KeyedStateStore, restored: bool) -> None:
        self._store = store
        self._keyed = keyed
        self._restored = restored

    def is_restored(self) -> bool:
        return self._restored

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._store

    def get_keyed_state_store(self) -> KeyedStateStore:
        return self._keyed
