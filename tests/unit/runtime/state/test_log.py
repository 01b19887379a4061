"""Any worker that catches up has the state of the last batch that counts, and nothing else."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.state import log as log_module
from penstock.runtime.state.backends import make_backend
from penstock.runtime.state.log import LogMeta, SlotLog, TaskInventory
from tests.unit.runtime.runner import Store
from tests.unit.runtime.state.models import PlainTables, Tables, operations

pytestmark = pytest.mark.usefixtures("backend")


def known(store: Store) -> LogMeta:
    """Return what the store knows of its log."""
    return LogMeta() if store.meta is None else LogMeta(*pickle.loads(store.meta))


class State:
    """What a task is to a log: keyed state of one operator, and something that is not keyed."""

    def __init__(self) -> None:
        self.backend = make_backend("operator 'test'", lambda: 0, {})
        self.tables = Tables(self.backend)
        self.timers = self.backend.event_timers
        self.counter = 0
        self._saved: dict[Any, bytes] = {}

    def take_delta(self) -> dict[Any, Any]:
        delta: dict[Any, Any] = {}
        if changes := self.backend.take_delta():
            delta["op"] = changes
        counter = pickle.dumps(self.counter)
        if counter != self._saved.get(("op",)):
            delta["op",] = self._saved["op",] = counter
        return delta

    def full_plain_state(self) -> dict[Any, bytes]:
        return dict(self._saved)

    def apply(self, delta: dict[Any, Any]) -> None:
        for name, changes in delta.items():
            if isinstance(name, tuple):
                self._saved[name] = changes
            else:
                self.backend.apply(changes)

    def settle(self) -> None:
        self.counter = pickle.loads(self._saved["op",])
        self.backend.settle()

    def flush(self) -> None:
        self.backend.flush()

    def inventory(self) -> Iterator[TaskInventory]:
        for place, kind, keys, dump in self.backend.inventory():
            yield "op", place, kind, keys, dump

    def content(self) -> Any:
        return self.tables.content(), sorted(self.timers.timers(), key=repr), self.counter


class Worker:
    """Keeps what it worked on, and catches up with the log before it goes on."""

    def __init__(self) -> None:
        self.kept: tuple[State, SlotLog] | None = None

    def take(self, store: Store) -> tuple[State, SlotLog]:
        state, log = self.kept or (State(), SlotLog())
        self.kept = None
        if not log.catch_up(store, state):
            state, log = State(), SlotLog()
            assert log.catch_up(store, state)
        return state, log


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make logs sweep and trim all the time."""
    make_tiny(monkeypatch)


def make_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "_MIN_LOG_BYTES": 200, "_MERGED": 3, "_TAIL_BYTES": 100, "_MIN_SWEEP_BYTES": 1,
        "_SWEEP_STEP": 1, "_REMOVALS": 2,
    }.items():  # fmt: skip
        monkeypatch.setattr(log_module, name, value)


timer_operations = st.tuples(
    st.sampled_from(["timer.set", "timer.delete", "timer.fire"]),
    st.integers(0, 5),
    st.sampled_from(["a", 1, None]),
)
batch = st.tuples(
    st.integers(0, 2),  # worker
    st.lists(operations | timer_operations, max_size=5),
    st.sampled_from(["commit", "commit", "commit", "fail", "forget"]),
)


def do(state: State, operation: Any) -> None:
    if not operation[0].startswith("timer."):
        state.tables.do(*operation)
        return
    what, time, key = operation
    if what == "timer.set":
        state.timers.register(time, key)
    elif what == "timer.delete":
        state.timers.delete(time, key)
    else:
        list(state.timers.due(time))


class Model:
    def __init__(self) -> None:
        self.tables = PlainTables()
        self.timers: set[Any] = set()
        self.counter = 0

    def do(self, operation: Any) -> None:
        if not operation[0].startswith("timer."):
            self.tables.do(*operation)
            return
        what, time, key = operation
        if what == "timer.set":
            self.timers.add((time, key))
        elif what == "timer.delete":
            self.timers.discard((time, key))
        else:
            self.timers = {timer for timer in self.timers if timer[0] > time}

    def content(self) -> Any:
        return self.tables.content(), sorted(self.timers, key=repr), self.counter


@settings(max_examples=150, deadline=None)
@given(st.lists(batch, max_size=40))
def test_every_worker_that_catches_up_has_the_state_that_counts(batches: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        make_tiny(monkeypatch)
        store, model, workers = Store(), Model(), [Worker(), Worker(), Worker()]
        for number, steps, outcome in batches:
            before = pickle.dumps(model)
            attempt = store.copy()
            state, log = workers[number].take(attempt)
            assert state.content() == model.content()
            for operation in steps:
                do(state, operation)
                model.do(operation)
            model.counter += len(steps) % 2
            state.counter = model.counter
            model.tables.end_batch()
            if outcome == "fail":  # half-way: neither worker nor store keep anything of it
                model = pickle.loads(before)
                continue
            log.append(attempt, state)
            workers[number].kept = state, log
            if outcome == "forget":  # the worker keeps it, but another attempt will count
                model = pickle.loads(before)
                continue
            store = attempt
            assert_sound(store)
        state, _ = Worker().take(store)
        assert state.content() == model.content()


def assert_sound(store: Store) -> None:
    meta = known(store)
    assert set(store.entries) == {first for first, _ in meta.blocks} | set(meta.dead)
    assert [len(store.entries[first]) for first, _ in meta.blocks] == [n for _, n in meta.blocks]
    begins = [*meta.dead, *(first for first, _ in meta.blocks), meta.tail_start]
    assert begins == sorted(begins)
    for first, end in pairwise(begins[len(meta.dead) :]):
        assert len(pickle.loads(store.entries[first])) == end - first


def change_keys(state: State, keys: range, value: Any) -> None:
    for key in keys:
        state.tables.value.put(key, value)


def test_the_number_of_blocks_stays_bounded(tiny: None) -> None:
    store, workers, chance = Store(), [Worker(), Worker()], random.Random(5)
    most = 0
    for number in range(400):
        worker = chance.choice(workers)
        state, log = worker.take(store)
        state.tables.value.put(chance.randrange(30), number)
        state.tables.list.add(chance.randrange(30), number)
        state.timers.register(number, chance.randrange(30))
        list(state.timers.due(number - 20))
        log.append(store, state)
        worker.kept = state, log
        assert_sound(store)
        most = max(most, len(store.entries))
    assert 1 < most < 400 / 2
    meta = known(store)
    assert meta.next == 400
    assert meta.first > 200


def test_a_batch_that_changes_nothing_writes_nothing() -> None:
    store, worker = Store(), Worker()
    state, log = worker.take(store)
    state.tables.value.put("a", 1)
    log.append(store, state)
    written = (store.meta, dict(store.entries))
    assert state.tables.value.get("a") == 1
    log.append(store, state)
    assert (store.meta, store.entries) == written
    assert log.catch_up(store, state)


def test_a_small_batch_reads_and_writes_one_value() -> None:
    store, workers = Store(), [Worker(), Worker()]
    for number in range(50):  # in turns, as slots move between workers
        worker = workers[number % 2]
        state, log = worker.take(store)
        assert state.tables.value.get("a") == (number - 1 if number else None)
        state.tables.value.put("a", number)
        log.append(store, state)
        worker.kept = state, log
    assert not store.entries
    assert store.reads == 0


def test_a_batch_writes_what_has_changed_and_no_more_than_a_tail() -> None:
    store, worker = Store(), Worker()
    state, log = worker.take(store)
    change_keys(state, range(20_000), 1.5)
    log.append(store, state)
    assert store.meta is not None
    assert store.written > 200_000
    for _ in range(100):
        store.written = 0
        change_keys(state, range(100), 2.5)
        log.append(store, state)
        # The changes, the tail with the block that it may become, and with a sweep on its least
        # share, rounded up to a step.
        most = 100 * 20 + 2 * log_module._TAIL_BYTES + log_module._MIN_SWEEP_BYTES + 256 * 20
        assert store.written < most


def test_what_is_not_keyed_is_written_once_an_entry_even_if_it_is_large(tiny: None) -> None:
    class LargeState(State):
        def __init__(self) -> None:
            super().__init__()
            self.large = b""

        def take_delta(self) -> dict[Any, Any]:
            self._saved["large",] = self.large
            return {("large",): self.large, **super().take_delta()}

        def settle(self) -> None:
            pass

    store, state, log = Store(), LargeState(), SlotLog()
    for number in range(50):
        state.large = bytes([number]) * 10_000
        log.append(store, state)
    assert sum(map(len, store.entries.values())) < 12 * 11_000


def test_loading_reads_live_blocks_only_and_catching_up_new_ones_only(tiny: None) -> None:
    store, first, second = Store(), Worker(), Worker()
    state, log = first.take(store)
    for number in range(60):
        state.tables.value.put(number % 7, number)
        log.append(store, state)
    meta = known(store)
    second.kept = second.take(store)
    assert store.reads == len(meta.blocks) < 30
    for number in range(6):
        state.tables.value.put("new", number)
        log.append(store, state)
    new = len([first for first, _ in known(store).blocks if first >= meta.tail_start])
    assert new > 1
    store.reads = 0
    caught_up, _ = second.take(store)
    # Twice the one that holds the last entry known: for its token, and for what follows in it.
    assert store.reads <= new + 1
    assert caught_up.content() == state.content()


def test_removals_are_spread_over_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "_MIN_LOG_BYTES", 10_000)
    monkeypatch.setattr(log_module, "_TAIL_BYTES", 0)
    store, worker = Store(), Worker()
    state, log = worker.take(store)
    for number in range(150):
        store.removals = 0
        state.tables.value.put("a", number)
        log.append(store, state)
        assert store.removals <= 8
    assert len(store.entries) < 60


def test_a_worker_on_a_branch_that_was_left_starts_anew() -> None:
    store, worker = Store(), Worker()
    state, log = worker.take(store)
    state.tables.value.put("a", 1)
    log.append(store, state)
    committed = store.copy()
    for attempt in (1, 2):  # the same batch twice; both write entry 1
        state, log = Worker().take(branch := committed.copy())
        state.tables.value.put("a", 10 * attempt)
        log.append(branch, state)
        if attempt == 1:
            worker.kept = state, log
    state, log = worker.take(branch)
    assert state.tables.value.get("a") == 20
    assert not log.catch_up(committed, state), "the log ends before what this worker has"
    assert not log.catch_up(Store(), state), "the log has been emptied"


def test_state_of_a_local_class_is_kept() -> None:
    class Local:
        def __init__(self, number: int) -> None:
            self.number = number

    store, worker = Store(), Worker()
    state, log = worker.take(store)
    state.tables.value.put("a", Local(5))
    log.append(store, state)
    loaded, _ = Worker().take(store)
    assert loaded.tables.value.get("a").number == 5


@pytest.mark.slow
def test_a_batch_costs_the_same_whatever_the_size_of_the_state() -> None:
    weights = {}
    for keys in (1_000, 100_000):
        store, worker = Store(), Worker()
        state, log = worker.take(store)
        for start in range(0, keys, 1_000):
            change_keys(state, range(start, start + 1_000), (start, "state"))
            log.append(store, state)
        for number in range(300):  # time enough for the sweeps of the loading phase to end
            change_keys(state, range(100), (number, "changed"))
            log.append(store, state)
        store.written = 0
        for number in range(50):
            change_keys(state, range(100), (number, "changed again"))
            log.append(store, state)
        weights[keys] = store.written / 50
    assert weights[100_000] < 40 * weights[1_000]
    assert weights[100_000] < 100_000
