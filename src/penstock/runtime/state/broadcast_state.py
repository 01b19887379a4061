"""Broadcast state: a map of which every subtask holds the same copy.

The broadcast side writes it. The side with the data reads copies of what it holds, which are thrown
away with the batch: were it to change an object in place, the subtasks' maps would drift apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.core.state import BroadcastState, ReadOnlyBroadcastState
from penstock.errors import StateError
from penstock.runtime.codec import Frozen, freeze, thaw
from penstock.runtime.state.tables import MapTable

_WHOLE = ()


class BroadcastStateHandle(BroadcastState[Any, Any]):
    """See `BroadcastState`."""

    def __init__(self, table: MapTable) -> None:
        self.table = table

    def get(self, key: Any) -> Any:
        return self.table.get(_WHOLE, key)

    def put(self, key: Any, value: Any) -> None:
        self.table.put(_WHOLE, key, value)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        for key, value in dict(dict_value).items():
            self.table.put(_WHOLE, key, value)

    def remove(self, key: Any) -> None:
        self.table.discard(_WHOLE, key)

    def contains(self, key: Any) -> bool:
        return self.table.contains(_WHOLE, key)

    def items(self) -> Iterable[tuple[Any, Any]]:
        return self.table.items(_WHOLE)

    def keys(self) -> Iterable[Any]:
        return self.table.names(_WHOLE)

    def values(self) -> Iterable[Any]:
        return [value for _, value in self.table.items(_WHOLE)]

    def is_empty(self) -> bool:
        return not self.table.has(_WHOLE)

    def clear(self) -> None:
        self.table.remove(_WHOLE)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a state handle cannot be pickled")


class ReadOnlyBroadcastStateHandle(ReadOnlyBroadcastState[Any, Any]):
    """See `ReadOnlyBroadcastState`. Has the methods that write too, to say why they do not."""

    def __init__(self, name: str, table: MapTable, where: str) -> None:
        self._name = name
        self._table = table
        self._where = where
        self._copies: dict[Any, Any] = {}

    def forget_copies(self) -> None:
        """Let go of the copies: the batch is over, or the state may have changed."""
        self._copies = {}

    def get(self, key: Any) -> Any:
        copies = self._copies
        if key in copies:
            return copies[key]
        entries = self._entries()
        if key not in entries:
            return None
        entry = entries[key]
        copy = copies[key] = thaw(entry if type(entry) is Frozen else freeze(entry))
        return copy

    def contains(self, key: Any) -> bool:
        return key in self._entries()

    def items(self) -> Iterable[tuple[Any, Any]]:
        return [(key, self.get(key)) for key in self._entries()]

    def keys(self) -> Iterable[Any]:
        return list(self._entries())

    def values(self) -> Iterable[Any]:
        return [self.get(key) for key in self._entries()]

    def is_empty(self) -> bool:
        return not self._entries()

    def _entries(self) -> dict[Any, Any]:
        return self._table.data.get(_WHOLE, {})

    # --- what only the broadcast side can do ----------------------------------------------

    def put(self, key: Any, value: Any) -> None:
        raise self._refusal(f"put({key!r}, ...)")

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        raise self._refusal("put_all(...)")

    def remove(self, key: Any) -> None:
        raise self._refusal(f"remove({key!r})")

    def clear(self) -> None:
        raise self._refusal("clear()")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise self._refusal(f"state[{key!r}] = ...")

    def __delitem__(self, key: Any) -> None:
        raise self._refusal(f"del state[{key!r}]")

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def _refusal(self, call: str) -> StateError:
        return StateError(
            f"broadcast state {self._name!r} can only be read on the side with the data",
            where=self._where,
            got=call,
            todo="change it in process_broadcast_element(), which every subtask calls with the "
            "same records",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a state handle cannot be pickled")
