"""Keyed state as user functions hold it: thin views of the tables, for the current key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.core.state import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    ValueState,
)
from penstock.errors import StateError
from penstock.runtime.codec import ATOMIC, HELD, copied, detach, freeze, handed_out, thaw
from penstock.runtime.state.tables import ListTable, MapTable, ValueTable
from penstock.runtime.state.ttl import ExpiringLists, ExpiringMaps, ExpiringValues

Values = ValueTable | ExpiringValues
Lists = ListTable | ExpiringLists
Maps = MapTable | ExpiringMaps


class KeyContext:
    """The storage key that state handles work under; `NO_KEY` outside of any record."""

    __slots__ = ("key",)

    def __init__(self) -> None:
        self.key: Any = NO_KEY


class _NoKey:
    """There is no current key. It has no hash, so that using it as one fails at once."""

    def __hash__(self) -> int:
        raise StateError(
            "keyed state or a timer was used while there is no current key",
            todo="use them in process_element() and on_timer(), not in open(), close() or "
            "snapshot_state(); the broadcast side visits all keys by ctx.apply_to_keyed_state()",
        )

    def __repr__(self) -> str:
        return "<no key>"


NO_KEY: Any = _NoKey()


class _Handle:
    """A state handle belongs to its worker: it never travels with an object that holds it."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a state handle cannot be pickled")


class ValueStateHandle(_Handle, ValueState[Any]):
    """See `ValueState`."""

    __slots__ = ("_context", "_table")

    def __init__(self, table: Values, context: KeyContext) -> None:
        self._table = table
        self._context = context

    def value(self) -> Any:
        return self._table.read(self._context.key)

    def update(self, value: Any) -> None:
        self._table.put(self._context.key, detach(value))

    def clear(self) -> None:
        self._table.remove(self._context.key)


class PlainValueStateHandle(ValueStateHandle):
    """A value that does not expire: what most functions use most, so without calls of the table."""

    __slots__ = ("_changed", "_data")

    def __init__(self, table: ValueTable, context: KeyContext) -> None:
        super().__init__(table, context)
        self._data = table.data
        self._changed = table.changed

    def value(self) -> Any:
        value = self._data.get(self._context.key)
        return handed_out(value) if type(value) in HELD else value

    def update(self, value: Any) -> None:
        if value is None:
            self._table.remove(self._context.key)
            return
        if type(value) not in ATOMIC:
            if type(value) is tuple:
                # As `freeze` does it, but for the call.
                for item in value:
                    if type(item) not in ATOMIC:
                        value = freeze(value)
                        break
            else:
                value = detach(value)
        key = self._context.key
        self._changed[key] = None
        self._data[key] = value


class DefaultedValueStateHandle(ValueStateHandle):
    """A value that is something while nothing has been stored."""

    __slots__ = ("_default",)

    def __init__(self, table: Values, context: KeyContext, default: Any) -> None:
        super().__init__(table, context)
        self._default = freeze(default)

    def value(self) -> Any:
        value = self._table.read(self._context.key)
        return thaw(self._default) if value is None else value


class ListStateHandle(_Handle, ListState[Any]):
    """See `ListState`."""

    __slots__ = ("_context", "_table")

    def __init__(self, table: Lists, context: KeyContext) -> None:
        self._table = table
        self._context = context

    def get(self) -> Iterable[Any]:
        return self._table.get(self._context.key)

    def add(self, value: Any) -> None:
        self._table.add(self._context.key, value)

    def add_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self._table.add(self._context.key, value)

    def update(self, values: Iterable[Any]) -> None:
        self._table.replace(self._context.key, values)

    def clear(self) -> None:
        self._table.remove(self._context.key)

    def __iter__(self) -> Any:
        return iter(self.get())


class MapStateHandle(_Handle, MapState[Any, Any]):
    """See `MapState`."""

    __slots__ = ("_context", "_table")

    def __init__(self, table: Maps, context: KeyContext) -> None:
        self._table = table
        self._context = context

    def get(self, key: Any) -> Any:
        return self._table.get(self._context.key, key)

    def put(self, key: Any, value: Any) -> None:
        self._table.put(self._context.key, key, value)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        for key, value in dict(dict_value).items():
            self._table.put(self._context.key, key, value)

    def remove(self, key: Any) -> None:
        self._table.discard(self._context.key, key)

    def contains(self, key: Any) -> bool:
        return self._table.contains(self._context.key, key)

    def items(self) -> Iterable[tuple[Any, Any]]:
        return self._table.items(self._context.key)

    def keys(self) -> Iterable[Any]:
        return self._table.names(self._context.key)

    def values(self) -> Iterable[Any]:
        return [value for _, value in self._table.items(self._context.key)]

    def is_empty(self) -> bool:
        return not self._table.has(self._context.key)

    def clear(self) -> None:
        self._table.remove(self._context.key)

    __getitem__ = get
    __setitem__ = put
    __delitem__ = remove
    __contains__ = contains

    def __iter__(self) -> Any:
        return iter(self.keys())


class ReducingStateHandle(_Handle, ReducingState[Any]):
    """See `ReducingState`."""

    __slots__ = ("_context", "_reduce", "_table")

    def __init__(self, table: Values, context: KeyContext, reduce: Any) -> None:
        self._table = table
        self._context = context
        self._reduce = reduce

    def get(self) -> Any:
        return copied(self._table.get(self._context.key))

    def add(self, value: Any) -> None:
        key, value = self._context.key, copied(value)
        current = self._table.get(key)
        self._table.put(key, value if current is None else self._reduce(current, value))

    def clear(self) -> None:
        self._table.remove(self._context.key)


class AggregatingStateHandle(_Handle, AggregatingState[Any, Any]):
    """See `AggregatingState`."""

    __slots__ = ("_context", "_function", "_table")

    def __init__(self, table: Values, context: KeyContext, function: Any) -> None:
        self._table = table
        self._context = context
        self._function = function

    def get(self) -> Any:
        accumulator = self._table.get(self._context.key)
        return None if accumulator is None else copied(self._function.get_result(accumulator))

    def add(self, value: Any) -> None:
        key, value = self._context.key, copied(value)
        accumulator = self._table.get(key)
        if accumulator is None:
            accumulator = self._function.create_accumulator()
        self._table.put(key, self._function.add(value, accumulator))

    def clear(self) -> None:
        self._table.remove(self._context.key)
