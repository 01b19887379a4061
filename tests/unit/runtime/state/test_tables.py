"""State is the same on every path from batch to batch: kept in memory, loaded, or written anew."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.codec import Frozen, detach
from penstock.runtime.state.tables import ListTable, MapTable, Table, ValueTable
from tests.unit.runtime.state.models import PlainTables, Tables, operations

pytestmark = pytest.mark.usefixtures("backend")


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


def test_what_a_function_reads_is_its_own() -> None:
    table = ValueTable()
    held: list[Any] = [[1], {"n": 1}, {1}, [[1]], {"n": [1]}, bytearray(b"x"), (1, [2])]
    for key, value in enumerate(held):
        table.put(key, detach(value))
    for _ in range(2):
        for key, value in enumerate(held):
            assert table.read(key) == value
            assert type(table.read(key)) is type(value)
            assert table.read(key) is not value
            if isinstance(value, list | dict | set | bytearray):
                table.read(key).clear()
        table.take_delta()
    assert table.take_delta() is None


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


def test_values_of_a_map_are_copies() -> None:
    table, mine = MapTable(), [1]
    table.put("k", "a", mine)
    table.put("k", "b", {"n": mine})
    mine.append(2)
    first = table.take_delta()
    for _, value in table.items("k"):
        value.clear()
    table.get("k", "a").append(3)
    assert table.take_delta() is None
    expected = [("a", [1]), ("b", {"n": [1]})]
    assert moved(table, first).items("k") == table.items("k") == expected


def test_an_entry_of_a_map_that_is_read_and_then_set_is_kept_as_it_was_set() -> None:
    table = MapTable()
    table.put("k", "a", [1])
    first = table.take_delta()
    assert table.get("k", "a") == [1]
    table.put("k", "a", [2])
    second = table.take_delta()
    assert moved(table, first, second).get("k", "a") == table.get("k", "a") == [2]


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

batches = st.lists(
    st.tuples(
        st.lists(operations, max_size=8), st.booleans(), st.sampled_from(["stay", "load", "carry"])
    ),
    max_size=8,
)


@settings(max_examples=400, deadline=None)
@given(batches)
def test_state_is_the_same_on_every_path(batches: list[Any]) -> None:
    model, tables = PlainTables(), Tables()
    log: list[list[Any]] = [[], [], []]
    for steps, look, path in batches:
        for operation in steps:
            tables.do(*operation)
            model.do(*operation)
        if look:  # not always: everything is thawed by it
            assert tables.content() == model.content()
        model.end_batch()
        for table, deltas in zip(tables.all, log, strict=True):
            if (delta := copied(table.take_delta())) is not None:
                deltas.append(delta)
            if path == "carry":  # what is there has been written anew: the rest is not needed
                deltas[:] = [copied(table.dump(list(table.all_keys())))]
        tables.backend.flush()
        if path != "stay":
            tables = Tables()
            for table, deltas in zip(tables.all, log, strict=True):
                for delta in deltas:
                    table.apply(copied(delta))
                    tables.backend.flush()
    assert tables.content() == model.content()
