"""Functions with transactions: each committed once, and none left over, whatever fails."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock.datastream import TwoPhaseCommitSinkFunction
from penstock.datastream.connectors.base import CheckpointCommitter, GenericWriteAheadSink
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import PenstockError
from penstock.graph.plan import ExecutionPlan
from penstock.testing.local_executor import LocalJob
from tests.unit.process.jobs import environment

_numbers = itertools.count()


class Store:
    """A stand-in for a database with transactions in two phases, shared by all processes."""

    def __init__(self) -> None:
        self.open: dict[str, list[Any]] = {}
        self.prepared: dict[str, list[Any]] = {}
        self.visible: list[Any] = []
        self.calls: list[str] = []


STORES: dict[int, Store] = {}


class ToStore(TwoPhaseCommitSinkFunction[Any, str]):
    def __init__(self, store: int) -> None:
        self._id = store
        self.opened = False

    @property
    def store(self) -> Store:
        return STORES[self._id]

    def open(self, runtime_context: Any) -> None:
        self.opened = True

    def begin_transaction(self) -> str:
        assert self.opened
        name = f"t{next(_numbers)}"
        self.store.open[name] = []
        return name

    def invoke(self, transaction: str, value: Any, context: Any) -> None:
        if value == "fail" and "failed" not in self.store.calls:
            self.store.calls.append("failed")
            raise ArithmeticError("division by zero")
        self.store.open[transaction].append((value, context.timestamp()))

    def pre_commit(self, transaction: str) -> None:
        self.store.prepared[transaction] = self.store.open.pop(transaction)

    def commit(self, transaction: str) -> None:
        self.store.visible += self.store.prepared.pop(transaction, [])

    def abort(self, transaction: str) -> None:
        self.store.open.pop(transaction, None)
        self.store.prepared.pop(transaction, None)

    def recover_and_commit(self, transaction: str) -> None:
        self.store.calls.append("recover_and_commit")
        self.commit(transaction)

    def recover_and_abort(self, transaction: str) -> None:
        self.store.calls.append("recover_and_abort")
        self.abort(transaction)


@pytest.fixture
def store() -> Store:
    number = next(_numbers)
    STORES[number] = Store()
    STORES[number].number = number  # type: ignore[attr-defined]
    return STORES[number]


def plan(store: Any, values: list[Any]) -> ExecutionPlan:
    env = environment()
    env.from_collection(values).add_sink(ToStore(store.number)).uid("two phases")
    return build_plan(env)


def values(store: Store) -> list[Any]:
    return [value for value, _ in store.visible]


def test_each_batch_is_a_transaction_that_is_committed(store: Store, tmp_path: Path) -> None:
    LocalJob(plan(store, list("abcde")), tmp_path, cuts=2).run()
    assert values(store) == list("abcde")
    assert store.open == store.prepared == {}
    assert store.calls == []


def test_nothing_is_visible_before_the_batch_is_logged(store: Store, tmp_path: Path) -> None:
    job = LocalJob(plan(store, list("abcd")), tmp_path, cuts=2)
    job.ask()
    job.attempt()
    assert store.visible == []
    assert [len(rows) for rows in store.prepared.values()] == [2]


def test_a_batch_that_is_run_again_undoes_what_the_first_attempt_prepared(
    store: Store, tmp_path: Path
) -> None:
    job = LocalJob(plan(store, list("abcd")), tmp_path, cuts=2)
    job.run(attempts=("first", "second", "first"))
    assert values(store) == list("abcd")
    assert store.open == store.prepared == {}
    assert store.calls.count("recover_and_abort") == 4


def test_a_function_that_fails_half_way(store: Store, tmp_path: Path) -> None:
    job = LocalJob(plan(store, ["a", "fail", "b"]), tmp_path, cuts=2, retries=1)
    job.run()
    assert values(store) == ["a", "fail", "b"]
    assert store.open == store.prepared == {}


def test_a_restart_commits_what_is_logged_and_undoes_the_rest(store: Store, tmp_path: Path) -> None:
    job = LocalJob(plan(store, list("abcdef")), tmp_path, cuts=2)
    job.step()  # logged, not published
    job.ask()
    job.attempt()  # prepared, not logged
    assert len(store.prepared) == 1
    assert values(store) == ["a", "b"]
    job = LocalJob(plan(store, list("abcdef")), tmp_path, cuts=2)
    assert store.prepared == {}
    assert store.calls == ["recover_and_abort"]
    job.run()
    assert values(store) == list("abcdef")


def test_a_restart_before_anything_was_published(store: Store, tmp_path: Path) -> None:
    LocalJob(plan(store, list("abcd")), tmp_path, cuts=2).step()
    assert store.visible == []
    LocalJob(plan(store, list("abcd")), tmp_path, cuts=2).run()
    assert values(store) == list("abcd")
    assert store.calls == ["recover_and_commit"]


class Connection(ToStore):
    def begin_transaction(self) -> Any:
        return threading.Lock()


def test_a_transaction_that_cannot_be_passed_on(store: Any, tmp_path: Path) -> None:
    env = environment()
    env.from_collection(["a"]).add_sink(Connection(store.number))
    with pytest.raises(PenstockError) as caught:
        LocalJob(build_plan(env), tmp_path).run()
    text = str(caught.value)
    assert "a transaction must be picklable: another process commits it" in text
    assert "return the name of a transaction rather than a connection" in text


# ------------------------------------------------------------------------------- write ahead

SENT: list[tuple[list[Any], int]] = []


class Sending(GenericWriteAheadSink):
    refusals = 0

    def send_values(self, values: Any, checkpoint_id: int, timestamp: int) -> bool:
        if self.refusals:
            self.refusals -= 1
            return False
        SENT.append((list(values), checkpoint_id))
        return True


class Remembering(CheckpointCommitter):
    def __init__(self) -> None:
        super().__init__()
        self.committed: set[tuple[int, int]] = set()
        self.events: list[str] = []

    def create_resource(self) -> None:
        self.events.append("create")

    def open(self) -> None:
        self.events.append(f"open {self.operator_id}")

    def close(self) -> None:
        self.events.append("close")

    def commit_checkpoint(self, subtask_idx: int, checkpoint_id: int) -> None:
        self.committed.add((subtask_idx, checkpoint_id))

    def is_checkpoint_committed(self, subtask_idx: int, checkpoint_id: int) -> bool:
        return (subtask_idx, checkpoint_id) in self.committed


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    SENT.clear()


def test_values_are_sent_when_their_batch_is_durable(tmp_path: Path) -> None:
    env = environment()
    remembering = Remembering()
    sink = Sending(remembering)
    env.from_collection(list("abc")).sink_to(sink).uid("ahead")
    job = LocalJob(build_plan(env), tmp_path, cuts=2)
    job.ask()
    job.attempt()
    assert SENT == []
    job.log_commit()
    job.run()
    assert SENT == [(["a", "b"], 0), (["c"], 1)]
    assert remembering.committed == {(0, 0), (0, 1)}
    assert remembering.events == ["create", "open ahead", "close"]


def test_what_the_committer_remembers_is_not_sent_again(tmp_path: Path) -> None:
    remembering = Remembering()
    remembering.committed.add((0, 0))
    env = environment()
    env.from_collection(list("abc")).sink_to(Sending(remembering))
    LocalJob(build_plan(env), tmp_path, cuts=2).run()
    assert SENT == [(["c"], 1)]


def test_values_that_have_not_arrived_are_sent_again(tmp_path: Path) -> None:
    sink = Sending()
    sink.refusals = 2
    env = environment()
    env.from_collection(["a"]).sink_to(sink)
    LocalJob(build_plan(env), tmp_path).run()
    assert SENT == [(["a"], 0)]
