"""State on disk: dictionaries that are larger than memory are dictionaries all the same."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row
from penstock.core.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.errors import ConfigurationError, StateError
from penstock.runtime.state import log as log_module
from penstock.runtime.state.backends import check_backend, make_backend
from penstock.runtime.state.disk import store as store_module
from penstock.runtime.state.disk.dictionary import DiskDict, TimedDiskDict
from penstock.runtime.state.disk.key_bytes import (
    SHARED,
    STAMPED_TAG,
    key_bytes,
    serial_bytes,
    stamped_bytes,
    time_bytes,
)
from penstock.runtime.state.disk.store import DiskStore
from penstock.runtime.state.log import LogMeta, SlotLog
from tests.unit.runtime.runner import Store


class Twin:
    """A key whose hash says nothing: many of them share their bytes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Twin) and other.name == self.name

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return f"Twin({self.name!r})"


def settings_in(folder: Path, memory: str = "16 kb") -> dict[str, str]:
    return {
        "state.backend.type": "rocksdb",
        "state.backend.rocksdb.localdir": str(folder),
        "state.backend.rocksdb.memory.fixed-per-slot": memory,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


@pytest.fixture
def store(folder: Path) -> Iterator[DiskStore]:
    store = DiskStore(settings_in(folder))
    yield store
    store.close()


EQUAL: list[list[Any]] = [
    [1, 1.0, True, Decimal(1), Fraction(1), complex(1)],
    [0.5, Fraction(1, 2), Decimal("0.5")],
    [("a", 1), ("a", 1.0)],
    [(1, (2.0, "x")), (1.0, (2, "x"))],
    [Twin("a"), Twin("a")],
    [Row(1, "a"), Row(1, "a")],
    [None, None],
]


@pytest.mark.parametrize("keys", EQUAL, ids=str)
def test_equal_keys_have_equal_bytes(keys: list[Any]) -> None:
    assert len({key_bytes(key) for key in keys}) == 1


def test_bytes_of_plain_keys_stand_for_one_key() -> None:
    keys = ["1", 1, b"1", ("1",), (1,), ((1,),), ("a", "b"), ("ab", ""), (), "", b"", None, -1]
    found = [key_bytes(key) for key in keys]
    assert len(set(found)) == len(keys)
    assert all(data[0] != SHARED for data in found)
    assert key_bytes(Twin("a"))[0] == SHARED
    assert stamped_bytes((5, Twin("a")))[STAMPED_TAG] == SHARED


def test_times_are_in_the_order_of_their_bytes() -> None:
    times = [MIN_WATERMARK, -5, -1, 0, 1, 300, MAX_WATERMARK]
    assert sorted(times, key=time_bytes) == times
    assert sorted(set(times), key=lambda time: serial_bytes((time, 9))) == times


KEYS: list[Any] = ["a", "b", 1, ("c", 2), Twin("x"), Twin("y"), Twin("z")]
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["set", "blind set", "pop", "del", "get", "change", "default", "flush", "look"]
        ),
        st.sampled_from(range(len(KEYS))),
        st.integers(0, 3),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=150)
@given(steps, st.sampled_from(["1 kb", "1 mb"]))
def test_a_dictionary_on_disk_is_a_dictionary(folder: Path, steps: list[Any], memory: str) -> None:
    store = DiskStore(settings_in(folder, memory))
    held, model = DiskDict(store), dict[Any, Any]()
    for step, at, number in steps:
        key = KEYS[at]
        if step == "set":
            assert (key in held) == (key in model)
            held[key] = model[key] = [number]
        elif step == "blind set":
            held[key], model[key] = [number], [number]
        elif step == "pop":
            assert held.pop(key, None) == model.pop(key, None)
        elif step == "del" and key in model:
            del held[key], model[key]
        elif step == "get":
            assert held.get(key) == model.get(key)
        elif step == "change" and key in model:
            held[key].append(number)
            if held[key] is not model[key]:
                model[key].append(number)
        elif step == "default":
            assert held.setdefault(key, [number]) == model.setdefault(key, [number])
        elif step == "flush":
            store.flush()
            model = {key: list(value) for key, value in model.items()}
        elif step == "look":
            assert len(held) == len(model)
            assert bool(held) == bool(model)
            assert sorted(held, key=repr) == sorted(model, key=repr)
    assert {key: held[key] for key in held} == model
    with pytest.raises(KeyError):
        held["nobody"]
    store.close()


def test_the_order_of_keys_does_not_depend_on_where_they_are(folder: Path) -> None:
    orders = []
    for seed in range(3):
        store = DiskStore(settings_in(folder))
        held = DiskDict(store)
        keys = list(range(50)) + [f"k{number}" for number in range(50)]
        random.Random(seed).shuffle(keys)
        for at, key in enumerate(keys):
            held[key] = at
            if at in (20, 70):
                store.flush()
        orders.append(list(held))
        store.close()
    assert orders[0] == orders[1] == orders[2]
    assert len(orders[0]) == 100


def test_what_is_due_is_taken_in_order(store: DiskStore) -> None:
    held = TimedDiskDict(store, serial_bytes)
    for serial, time in enumerate([30, 10, 20, 10, MAX_WATERMARK]):
        held[time, serial] = f"{time}/{serial}"
    store.flush()
    held[20, 5] = "20/5"
    assert held.first_time() == 10
    assert [owner for _, owner in held.take(20)] == ["10/1", "10/3", "20/2", "20/5"]
    assert held.take(20) == []
    assert held.first_time() == 30
    held[15, 6] = "15/6"  # behind what has been taken
    assert held.first_time() == 15
    store.flush()
    assert [owner for _, owner in held.take(MAX_WATERMARK)] == [
        "15/6",
        "30/0",
        f"{MAX_WATERMARK}/4",
    ]
    assert held.first_time() is None


def test_memory_keeps_what_there_is_room_for(folder: Path) -> None:
    store = DiskStore(settings_in(folder, "1 mb"))
    held = DiskDict(store)
    for number in range(20_000):
        held[number] = (number, "x" * 100)
    store.flush()
    assert dict.__len__(held) == 0
    kept = held._hot
    assert 100 < len(kept) < 2_000
    assert len(held) == 20_000
    assert held[3] == (3, "x" * 100)
    store.close()


def test_a_store_is_made_when_there_is_something_to_write_and_goes_with_its_task(
    tmp_path: Path,
) -> None:
    backend = make_backend("operator", lambda: 0, settings_in(tmp_path))
    backend.flush()
    assert list(tmp_path.rglob("state-*")) == []
    backend.table("held", "value").put("a", 1)
    backend.take_delta()
    backend.flush()
    assert len(list(tmp_path.rglob("state-*"))) == 1
    backend.close()
    assert list(tmp_path.rglob("state-*")) == []


def test_a_missing_package_is_told_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_module, "rocksdict", None)
    check_backend({})
    with pytest.raises(StateError) as raised:
        check_backend({"state.backend": "rocksdb"})
    assert str(raised.value) == (
        "the state backend 'rocksdb' needs the package rocksdict\n"
        "  where: configuration key state.backend.type\n"
        "  got:   it cannot be imported\n"
        "  to do: pip install 'penstock[rocksdb]', here and where the workers run; or use the "
        "backend 'hashmap'"
    )


def test_a_backend_that_is_not_known_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="use one of: hashmap, rocksdb"):
        check_backend({"state.backend.type": "forst"})


class _Backed:
    """What a log needs, of one backend."""

    def __init__(self, folder: Path) -> None:
        self.backend = make_backend("operator", lambda: 0, settings_in(folder))
        self.table = self.backend.table("held", "value")

    def take_delta(self) -> dict[Any, Any]:
        changes = self.backend.take_delta()
        return {"op": changes} if changes else {}

    def full_plain_state(self) -> dict[Any, bytes]:
        return {}

    def apply(self, delta: dict[Any, Any]) -> None:
        for changes in delta.values():
            self.backend.apply(changes)

    def settle(self) -> None:
        self.backend.settle()

    def flush(self) -> None:
        self.backend.flush()

    def inventory(self) -> Iterator[Any]:
        for part in self.backend.inventory():
            yield ("op", *part)


def test_a_log_of_many_batches_has_few_blocks_and_loads_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "_TAIL_BYTES", 200)
    store, state, log = Store(), _Backed(tmp_path), SlotLog()
    for number in range(600):
        for key in range(number % 50, number % 50 + 10):
            state.table.put(key, f"value {number}")
        log.append(store, state)
    meta = LogMeta(*pickle.loads(store.meta))
    assert len(meta.blocks) < 40
    assert set(store.entries) == {first for first, _ in meta.blocks} | set(meta.dead)
    other = _Backed(tmp_path)
    assert SlotLog().catch_up(store, other)
    assert dict(other.table.data.items()) == dict(state.table.data.items())
    state.backend.close()
    other.backend.close()
