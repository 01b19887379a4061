"""State is the same on every path from batch to batch: kept in memory, loaded, or written anew."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.codec import Frozen
from penstock.runtime.state.tables import ListTable, MapTable, Table, ValueTable


def copied(delta: Any) -> Any:
    return pickle.loads(pickle.dumps(delta))


def moved(table: Table, *deltas: Any) -> Any:
    """Return a table in another worker that has applied the deltas."""
    other = type(table)()
    for delta in deltas:
        if delta is not None:
            other.apply(copied(delta))
    return other


# --- single steps -----------------------------------------------------------------------------


def test_a_value_is_set_replaced_and_removed() -> None:
    table = ValueTable()
    assert table.get("a") is None
    table.put("a", 1)
    table.put("b", [1])
    first = table.take_delta()
    table.put("a", 2)
    table.put("b", None)
    table.remove("nobody")
    second = table.take_delta()
    assert (table.data, table.take_delta()) == ({"a": 2}, None)
    assert moved(table, first).data.keys() == {"a", "b"}
    assert moved(table, first, second).data == {"a": 2}


def test_reading_what_cannot_change_costs_nothing_at_the_end_of_a_batch() -> None:
    table = ValueTable()
    table.put("a", (1, "x"))
    table.take_delta()
    assert table.get("a") == (1, "x")
    assert table.take_delta() is None


def test_reading_without_changing_is_not_written() -> None:
    values, maps = ValueTable(), MapTable()
    values.put("a", {"n": [1]})
    maps.put("a", "x", [1])
    values.take_delta(), maps.take_delta()
    assert values.get("a") == {"n": [1]}
    assert maps.items("a") == [("x", [1])]
    assert values.take_delta() is None
    assert maps.take_delta() is None


def test_a_value_changed_in_place_is_kept() -> None:
    table = ValueTable()
    table.put("a", [1])
    first = table.take_delta()
    table.get("a").append(2)
    assert table.get("a") == [1, 2]
    second = table.take_delta()
    assert table.get("a") == [1, 2]
    assert moved(table, first, second).get("a") == [1, 2]


def test_an_object_that_was_put_is_the_states_own_once_the_batch_is_over() -> None:
    table = ValueTable()
    mine = [1]
    table.put("a", mine)
    mine.append(2)
    delta = table.take_delta()
    mine.append(3)
    assert table.get("a") == [1, 2]
    assert moved(table, delta).get("a") == [1, 2]


def test_two_states_share_an_object_for_one_batch_only() -> None:
    first, second, shared = ValueTable(), ValueTable(), [1]
    first.put("a", shared)
    second.put("a", shared)
    first.take_delta(), second.take_delta()
    first.get("a").append(2)
    assert second.get("a") == [1]


def test_elements_of_a_list_are_copies() -> None:
    table = ListTable()
    element = {"n": 1}
    table.add("a", element)
    element["n"] = 2
    table.get("a")[0]["n"] = 3
    assert table.get("a") == [{"n": 1}]
    table.take_delta()
    table.get("a")[0]["n"] = 4
    assert table.take_delta() is None
    assert table.get("a") == [{"n": 1}]


def test_appending_writes_what_was_appended_only() -> None:
    table = ListTable()
    for number in range(1000):
        table.add("a", number)
    first = table.take_delta()
    table.add("a", 1000)
    second = table.take_delta()
    assert len(pickle.dumps(second)) < 100
    assert moved(table, first, second).get("a") == list(range(1001))


def test_a_list_that_was_loaded_does_not_grow_into_the_delta() -> None:
    table = ListTable()
    table.add("a", 1)
    delta = table.take_delta()
    other = ListTable()
    other.apply(delta)
    other.add("a", 2)
    assert moved(table, delta).get("a") == [1]
    assert table.get("a") == [1]


def test_a_list_is_replaced_and_removed() -> None:
    table = ListTable()
    table.replace("a", iter([1, 2]))
    first = table.take_delta()
    table.add("a", 3)
    table.replace("a", [4])
    table.add("a", 5)
    second = table.take_delta()
    table.replace("a", [])
    table.remove("a")
    table.add("b", 1)
    table.remove("b")
    third = table.take_delta()
    assert moved(table, first, second).get("a") == [4, 5]
    assert moved(table, first, second, third).data == table.data == {}


def test_writing_one_entry_of_a_map_writes_that_entry_only() -> None:
    table = MapTable()
    for number in range(1000):
        table.put("a", number, number)
    first = table.take_delta()
    table.put("a", 7, -7)
    second = table.take_delta()
    assert len(pickle.dumps(second)) < 100
    assert moved(table, first, second).items("a") == table.items("a")


def test_entries_of_a_map_are_iterated_in_the_order_in_which_they_joined() -> None:
    table = MapTable()
    for name in "cab":
        table.put("k", name, 1)
    first = table.take_delta()
    table.put("k", "a", 2)  # stays where it is
    table.discard("k", "c")
    table.put("k", "d", 1)
    table.put("k", "c", 3)  # joins anew
    second = table.take_delta()
    assert table.names("k") == ["a", "b", "d", "c"]
    assert moved(table, first, second).items("k") == table.items("k")


def test_a_map_goes_with_its_last_entry() -> None:
    table = MapTable()
    table.put("k", "a", None)
    assert table.contains("k", "a")
    assert not table.contains("k", "b")
    assert table.get("k", "a") is None
    first = table.take_delta()
    table.discard("k", "a")
    table.discard("k", "a")
    table.discard("nobody", "a")
    second = table.take_delta()
    assert table.data == {}
    assert moved(table, first, second).data == {}


def test_a_map_that_was_removed_and_filled_again_has_nothing_old() -> None:
    table = MapTable()
    table.put("k", "old", [1])
    first = table.take_delta()
    table.get("k", "old").append(2)
    table.remove("k")
    table.put("k", "new", 1)
    second = table.take_delta()
    assert moved(table, first, second).items("k") == table.items("k") == [("new", 1)]


def test_values_of_a_map_changed_in_place_are_kept_at_their_place() -> None:
    table = MapTable()
    for name in "ab":
        table.put("k", name, [])
    first = table.take_delta()
    for name, value in table.items("k"):
        value.append(name)
    table.put("k", "c", 1)
    second = table.take_delta()
    expected = [("a", ["a"]), ("b", ["b"]), ("c", 1)]
    assert moved(table, first, second).items("k") == table.items("k") == expected


def test_keys_are_sorted_alike_in_every_worker() -> None:
    keys = ["b", 1, None, ("a", 2), "a", 2.5]
    tables = [ValueTable(), ValueTable()]
    for key in keys:
        tables[0].put(key, 1)
    for key in reversed(keys):
        tables[1].put(key, 1)
    assert tables[0].sorted_keys() == tables[1].sorted_keys()


def test_everything_is_frozen_when_a_batch_is_over() -> None:
    values, lists, maps = ValueTable(), ListTable(), MapTable()
    values.put("k", [1])
    lists.add("k", [1])
    maps.put("k", "a", [1])
    for table in (values, lists, maps):
        table.take_delta()
    assert type(values.data["k"]) is Frozen
    assert type(lists.data["k"][0]) is Frozen
    assert type(maps.data["k"]["a"]) is Frozen


# --- a model ----------------------------------------------------------------------------------

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
batches = st.lists(
    st.tuples(
        st.lists(operations, max_size=8), st.booleans(), st.sampled_from(["stay", "load", "carry"])
    ),
    max_size=8,
)


class Tables:
    """One table of each kind, as they stand in a worker."""

    def __init__(self) -> None:
        self.value, self.list, self.map = ValueTable(), ListTable(), MapTable()

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
                    {key: self.value.get(key) for key in self.value.keys()},
                    {key: self.list.get(key) for key in self.list.keys()},
                    {key: self.map.items(key) for key in self.map.keys()},
                )
            )
        )


class PlainTables(Tables):
    """The same in plain dictionaries; at the end of a batch every value becomes its own copy."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        self.lists: dict[Any, list[Any]] = {}
        self.maps: dict[Any, dict[Any, Any]] = {}

    def end_batch(self) -> None:
        self.values = {key: copy.deepcopy(value) for key, value in self.values.items()}
        self.maps = {
            key: {name: copy.deepcopy(value) for name, value in entries.items()}
            for key, entries in self.maps.items()
        }

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
        self.maps.setdefault(key, {})[name] = value

    def map_change(self, key: Any, name: Any) -> None:
        change(self.maps.get(key, {}).get(name))

    def map_change_all(self, key: Any) -> None:
        for value in self.maps.get(key, {}).values():
            change(value)

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


@given(batches)
def test_state_is_the_same_on_every_path(batches: list[Any]) -> None:
    model, tables = PlainTables(), Tables()
    log: list[list[Any]] = [[], [], []]
    for operations, look, path in batches:
        for operation in operations:
            tables.do(*operation)
            model.do(*operation)
        if look:  # not always: everything is thawed by it
            assert tables.content() == model.content()
        model.end_batch()
        for table, deltas in zip(tables.all, log, strict=True):
            if (delta := copied(table.take_delta())) is not None:
                deltas.append(delta)
            if path == "carry":  # what is there has been written anew: the rest is not needed
                deltas[:] = [copied(table.dump(list(table.keys())))]
        if path != "stay":
            tables = Tables()
            for table, deltas in zip(tables.all, log, strict=True):
                for delta in deltas:
                    table.apply(copied(delta))
    assert tables.content() == model.content()
