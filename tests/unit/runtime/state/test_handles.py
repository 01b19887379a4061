"""State as a function holds it: always that of the current key, and never to be carried away."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.core.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.errors import StateError
from penstock.runtime.state.backends import make_backend
from penstock.runtime.state.keyed_backend import KeyedBackend

pytestmark = pytest.mark.usefixtures("backend")


@pytest.fixture
def backend() -> KeyedBackend:
    backend = make_backend("operator 'test', built at job.py:1", lambda: 0, {})
    backend.context.key = "a"
    return backend


def test_every_key_has_a_value_of_its_own(backend: KeyedBackend) -> None:
    state = backend.get_state(ValueStateDescriptor("value"))
    state.update(1)
    backend.context.key = "b"
    assert state.value() is None
    state.update(2)
    backend.context.key = "a"
    assert state.value() == 1
    state.clear()
    assert state.value() is None


def test_a_list(backend: KeyedBackend) -> None:
    state = backend.get_list_state(ListStateDescriptor("list"))
    assert list(state.get()) == []
    state.add(1)
    state.add_all([2, 3])
    assert list(state) == list(state.get()) == [1, 2, 3]
    state.update([4])
    assert list(state.get()) == [4]
    state.update([])
    assert list(state.get()) == []
    state.add(5)
    state.clear()
    assert list(state.get()) == []


def test_a_map(backend: KeyedBackend) -> None:
    state = backend.get_map_state(MapStateDescriptor("map"))
    assert state.is_empty()
    state.put("x", 1)
    state["y"] = 2
    state.put_all({"z": None})
    assert (state.get("x"), state["y"], state.get("nothing")) == (1, 2, None)
    assert state.contains("z")
    assert "nothing" not in state
    assert list(state) == list(state.keys()) == ["x", "y", "z"]
    assert list(state.values()) == [1, 2, None]
    assert list(state.items()) == [("x", 1), ("y", 2), ("z", None)]
    for name in state.keys():  # noqa: SIM118 - a map that changes while it is gone through
        state.remove(name)
    assert state.is_empty()
    state["x"] = 1
    del state["x"]
    state.clear()
    assert list(state.items()) == []


def test_what_is_added_is_reduced(backend: KeyedBackend) -> None:
    state = backend.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b))
    assert state.get() is None
    for number in (1, 2, 3):
        state.add(number)
    assert state.get() == 6
    state.clear()
    assert state.get() is None


class Average:
    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        accumulator[0] += value
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: list[int]) -> float:
        return accumulator[0] / accumulator[1]


def test_what_is_added_is_aggregated(backend: KeyedBackend) -> None:
    state = backend.get_aggregating_state(AggregatingStateDescriptor("average", Average(), None))
    assert state.get() is None
    state.add(1)
    state.add(2)
    backend.take_delta()  # the next batch: the accumulator is another object now
    state.add(6)
    assert state.get() == 3
    other = make_backend("other", lambda: 0, {})
    other.context.key = "a"
    assert (
        other.get_aggregating_state(AggregatingStateDescriptor("average", Average(), None)).get()
        is None
    )


def test_the_same_name_gives_the_same_state(backend: KeyedBackend) -> None:
    backend.get_state(ValueStateDescriptor("value")).update(1)
    assert backend.get_state(ValueStateDescriptor("value")).value() == 1


def test_a_name_is_taken_once(backend: KeyedBackend) -> None:
    backend.get_state(ValueStateDescriptor("count"))
    with pytest.raises(StateError) as caught:
        backend.get_map_state(MapStateDescriptor("count"))
    assert "'count'" in str(caught.value)
    assert "  where: operator 'test', built at job.py:1" in str(caught.value)


@pytest.mark.parametrize("what", ["value", "list", "map"])
def test_a_handle_is_never_pickled(backend: KeyedBackend, what: str) -> None:
    handles: dict[str, Any] = {
        "value": backend.get_state(ValueStateDescriptor("value")),
        "list": backend.get_list_state(ListStateDescriptor("list")),
        "map": backend.get_map_state(MapStateDescriptor("map")),
    }
    with pytest.raises(TypeError, match="a state handle cannot be pickled"):
        pickle.dumps(handles[what])


def test_timers_that_are_all_gone_are_written_anew_for_their_number(backend: KeyedBackend) -> None:
    assert backend.inventory() == []
    backend.event_timers.register(10, "a")
    backend.event_timers.delete(10, "a")
    ((_, kind, keys, dump),) = backend.inventory()
    assert (kind, keys, dump(keys)) == ("pane-timers", [], ([], [], [], 1))
