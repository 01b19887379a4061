"""State written down twice: in the tables of the runtime, and in plain dictionaries."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from hypothesis import strategies as st

from penstock.runtime.state.backends import make_backend
from penstock.runtime.state.keyed_backend import KeyedBackend
from penstock.runtime.state.tables import ListTable, MapTable, Table, ValueTable

KEYS = st.sampled_from(["a", "b", 1, ("c", 2)])
NAMES = st.sampled_from(["x", "y", 1, None])
CONTENT = st.sampled_from([7, "s", (1, 2)]) | st.builds(lambda n: [n], st.integers(0, 9))
operations = st.one_of(
    st.tuples(st.just("value.put"), KEYS, st.none() | CONTENT),
    st.tuples(st.just("value.change"), KEYS),
    st.tuples(st.just("value.remove"), KEYS),
    st.tuples(st.just("value.share"), KEYS, KEYS),
    st.tuples(st.just("list.add"), KEYS, CONTENT),
    st.tuples(st.just("list.change"), KEYS),
    st.tuples(st.just("list.replace"), KEYS, st.lists(CONTENT, max_size=2)),
    st.tuples(st.just("list.remove"), KEYS),
    st.tuples(st.just("map.put"), KEYS, NAMES, CONTENT),
    st.tuples(st.just("map.change"), KEYS, NAMES),
    st.tuples(st.just("map.change all"), KEYS),
    st.tuples(st.just("map.discard"), KEYS, NAMES),
    st.tuples(st.just("map.remove"), KEYS),
    st.tuples(st.just("map.share"), KEYS, NAMES),
)


class Tables:
    """One table of each kind, as they stand in a worker."""

    def __init__(self, backend: KeyedBackend | None = None) -> None:
        backend = backend or make_backend("operator 'test'", lambda: 0, {})
        self.backend = backend
        self.value: ValueTable = backend.table("value", "value")
        self.list: ListTable = backend.table("list", "list")
        self.map: MapTable = backend.table("map", "map")

    @property
    def all(self) -> list[Table]:
        return [self.value, self.list, self.map]

    def do(self, what: str, key: Any, *rest: Any) -> None:
        kind, action = what.split(".")
        getattr(self, f"{kind}_{action.replace(' ', '_')}")(key, *copy.deepcopy(rest))

    def value_put(self, key: Any, value: Any) -> None:
        self.value.put(key, value)

    def value_change(self, key: Any) -> None:
        change(self.value.get(key))

    def value_remove(self, key: Any) -> None:
        self.value.remove(key)

    def value_share(self, key: Any, other: Any) -> None:
        self.value.put(other, self.value.get(key))

    def list_add(self, key: Any, value: Any) -> None:
        self.list.add(key, value)

    def list_change(self, key: Any) -> None:
        for element in self.list.get(key):
            change(element)

    def list_replace(self, key: Any, values: Any) -> None:
        self.list.replace(key, values)

    def list_remove(self, key: Any) -> None:
        self.list.remove(key)

    def map_put(self, key: Any, name: Any, value: Any) -> None:
        self.map.put(key, name, value)

    def map_change(self, key: Any, name: Any) -> None:
        change(self.map.get(key, name))

    def map_change_all(self, key: Any) -> None:
        for _, value in self.map.items(key):
            change(value)

    def map_discard(self, key: Any, name: Any) -> None:
        self.map.discard(key, name)

    def map_remove(self, key: Any) -> None:
        self.map.remove(key)

    def map_share(self, key: Any, name: Any) -> None:
        if (value := self.value.get(key)) is not None:
            self.map.put(key, name, value)

    def content(self) -> Any:
        """Return all that the tables hold, maps and lists in their order."""
        return pickle.loads(
            pickle.dumps(
                (
                    {key: self.value.get(key) for key in self.value.data},
                    {key: self.list.get(key) for key in self.list.data},
                    {key: self.map.items(key) for key in self.map.data},
                )
            )
        )


class PlainTables(Tables):
    """The same in plain dictionaries: lists and maps own what they hold, values with the batch."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        self.lists: dict[Any, list[Any]] = {}
        self.maps: dict[Any, dict[Any, Any]] = {}

    def end_batch(self) -> None:
        self.values = {key: copy.deepcopy(value) for key, value in self.values.items()}

    def value_put(self, key: Any, value: Any) -> None:
        self.values[key] = value
        if value is None:
            del self.values[key]

    def value_change(self, key: Any) -> None:
        change(self.values.get(key))

    def value_remove(self, key: Any) -> None:
        self.values.pop(key, None)

    def value_share(self, key: Any, other: Any) -> None:
        self.value_put(other, self.values.get(key))

    def list_add(self, key: Any, value: Any) -> None:
        self.lists.setdefault(key, []).append(value)

    def list_change(self, key: Any) -> None:
        pass

    def list_replace(self, key: Any, values: Any) -> None:
        self.lists[key] = list(values)
        if not values:
            del self.lists[key]

    def list_remove(self, key: Any) -> None:
        self.lists.pop(key, None)

    def map_put(self, key: Any, name: Any, value: Any) -> None:
        self.maps.setdefault(key, {})[name] = copy.deepcopy(value)

    def map_change(self, key: Any, name: Any) -> None:
        pass

    def map_change_all(self, key: Any) -> None:
        pass

    def map_discard(self, key: Any, name: Any) -> None:
        self.maps.get(key, {}).pop(name, None)
        if not self.maps.get(key, {"": 0}):
            del self.maps[key]

    def map_remove(self, key: Any) -> None:
        self.maps.pop(key, None)

    def map_share(self, key: Any, name: Any) -> None:
        if (value := self.values.get(key)) is not None:
            self.map_put(key, name, value)

    def content(self) -> Any:
        maps = {key: list(entries.items()) for key, entries in self.maps.items()}
        return copy.deepcopy((self.values, self.lists, maps))


def change(value: Any) -> None:
    if isinstance(value, list):
        value.append(len(value))
