"""State is read out of savepoints, and put into them, without their jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.core.functions import CheckpointedFunction
from penstock.core.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import StateError, TypeMismatchError
from penstock.graph.plan import ExecutionPlan
from penstock.state_processor import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    OperatorIdentifier,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
    StateBootstrapFunction,
)
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink

RECORDS = [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("a", 5), ("b", 6)]

TOTAL = ValueStateDescriptor("total", None)
SEEN = ListStateDescriptor("seen", None)
COUNTS = MapStateDescriptor("counts", None, None)
MOST = ReducingStateDescriptor("most", max, None)


class Everything(KeyedProcessFunction):
    """Keep each kind of state, and a timer of each kind."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(TOTAL)
        self.seen = runtime_context.get_list_state(SEEN)
        self.counts = runtime_context.get_map_state(COUNTS)
        self.most = runtime_context.get_reducing_state(MOST)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + value[1])
        self.seen.add([value[1]])
        self.counts.put(value[1] % 2, self.seen_so_far())
        self.most.add(value[1])
        ctx.timer_service().register_event_time_timer(1000 + value[1])
        yield value[0], self.total.value()

    def seen_so_far(self) -> int:
        return len(list(self.seen.get()))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), f"timer {timestamp}"


class ReadEverything(KeyedStateReaderFunction[str, Any]):
    def open(self, runtime_context: Any) -> None:
        Everything.open(self, runtime_context)  # type: ignore[arg-type]

    def read_key(self, key: str, ctx: Any) -> Iterator[Any]:
        yield (
            key,
            self.total.value(),  # type: ignore[attr-defined]
            list(self.seen.get()),  # type: ignore[attr-defined]
            dict(self.counts.items()),  # type: ignore[attr-defined]
            self.most.get(),  # type: ignore[attr-defined]
            sorted(ctx.registered_event_time_timers()),
        )


def env_of() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.get_configuration().set_string("execution.target", "in-process")
    return env.set_parallelism(1)


def plan_of(records: list[Any], sink: RecordingSink, parallelism: int = 2) -> ExecutionPlan:
    env = env_of().set_parallelism(parallelism)
    keyed = env.from_collection(records).uid("in").key_by(lambda r: r[0])
    keyed.process(Everything()).uid("all").sink_to(sink).uid("out")
    return build_plan(env)


@pytest.fixture
def savepoint(tmp_path: Path) -> str:
    more = [("later", 0)] * 10
    job = LocalJob(plan_of(RECORDS + more, RecordingSink()), tmp_path / "job", cuts=6, poll_ms=0)
    job.step()
    return job.savepoint(tmp_path / "savepoints")


def test_each_kind_of_keyed_state_with_timers(savepoint: str) -> None:
    reader = SavepointReader.read(env_of(), savepoint)
    assert reader.operators()["all"] == {
        "total": "value",
        "seen": "list",
        "counts": "map",
        "most": "value",
    }
    found = reader.read_keyed_state(OperatorIdentifier.for_uid("all"), ReadEverything())
    read = {row[0]: row[1:] for row in found.execute_and_collect()}
    assert read["a"] == (9, [[1], [3], [5]], {1: 3}, 5, [1001, 1003, 1005])
    assert set(read) >= {"a", "b", "c"}


def test_rows_of_one_state(savepoint: str) -> None:
    rows = SavepointReader.read(env_of(), savepoint).read_keyed_state("all", "total")
    totals = {row.key: row.value for row in rows}
    assert totals["a"] == sum(n for k, n in RECORDS if k == "a")
    assert all(row.namespace is None for row in rows)
    with pytest.raises(StateError, match="has no keyed state 'nothing'"):
        SavepointReader.read(env_of(), savepoint).read_keyed_state("all", "nothing")


class PutTotals(KeyedStateBootstrapFunction[str, Any]):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(TOTAL)
        self.seen = runtime_context.get_list_state(SEEN)

    def process_element(self, value: Any, ctx: Any) -> None:
        assert ctx.get_current_key() == value[0]
        self.total.update(value[1])
        self.seen.add([value[1]])
        ctx.timer_service().register_event_time_timer(7)


def test_a_job_begins_with_state_that_was_made_from_data(tmp_path: Path) -> None:
    made = OperatorTransformation.bootstrap_with([("a", 100), ("z", 5)]).key_by(lambda r: r[0])
    writer = SavepointWriter.new_savepoint(max_parallelism=128)
    writer.with_operator("all", made.transform(PutTotals())).write(str(tmp_path / "made"))
    sink = RecordingSink()
    plan = plan_of(RECORDS, sink)
    LocalJob(plan, tmp_path / "job", poll_ms=0, restore=str(tmp_path / "made")).run()
    values = sink.values()
    assert [total for key, total in values if key == "a"][:3] == [101, 104, 109]
    assert ("z", "timer 7") in values and ("a", "timer 7") in values


def test_operators_are_removed_and_added(savepoint: str, tmp_path: Path) -> None:
    made = OperatorTransformation.bootstrap_with([("q", 1)]).key_by(lambda r: r[0])
    writer = SavepointWriter.from_existing_savepoint(savepoint)
    with pytest.raises(StateError, match="has an operator 'all' already"):
        writer.with_operator("all", made.transform(PutTotals()))
    writer.remove_operator("all").with_operator("other", made.transform(PutTotals()))
    writer.write(str(tmp_path / "changed"))
    reader = SavepointReader.read(env_of(), str(tmp_path / "changed"))
    assert {row.key for row in reader.read_keyed_state("other", "total")} == {"q"}
    assert "all" not in reader.operators() and "in" in reader.operators()
    with pytest.raises(StateError, match="a savepoint in that folder already"):
        writer.write(str(tmp_path / "changed"))


class PutList(StateBootstrapFunction[int], CheckpointedFunction):
    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.numbers = store.get_list_state(ListStateDescriptor("numbers", None))
        self.held: list[int] = []

    def process_element(self, value: int, ctx: Any) -> None:
        self.held.append(value)

    def snapshot_state(self, context: Any) -> None:
        self.numbers.update(self.held)


class PutBroadcast(BroadcastStateBootstrapFunction[Any]):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(MapStateDescriptor("rules", None, None)).put(*value)


def test_operator_state_and_broadcast_state(tmp_path: Path) -> None:
    writer = SavepointWriter.new_savepoint()
    numbers = OperatorTransformation.bootstrap_with([3, 1, 2]).transform(PutList())
    rules = OperatorTransformation.bootstrap_with([("x", 1), ("y", 2)]).transform(PutBroadcast())
    writer.with_operator("list", numbers).with_operator("rules", rules)
    writer.write(str(tmp_path / "made"))
    reader = SavepointReader.read(env_of(), str(tmp_path / "made"))
    assert list(reader.read_list_state("list", "numbers").execute_and_collect()) == [3, 1, 2]
    found = list(reader.read_broadcast_state("rules", "rules").execute_and_collect())
    assert sorted(found) == [("x", 1), ("y", 2)]
    with pytest.raises(StateError, match="no operator state 'numbers' of that kind"):
        reader.read_union_state("list", "numbers")
    with pytest.raises(TypeMismatchError, match="needs a KeyedStateBootstrapFunction object"):
        OperatorTransformation.bootstrap_with([]).key_by(str).transform(PutList())  # type: ignore[arg-type]
