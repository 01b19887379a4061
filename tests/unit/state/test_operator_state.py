"""Functions that keep operator state: what they are told, and what outlives batch and worker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from penstock.core.state import ListStateDescriptor, MapStateDescriptor
from penstock.datastream import (
    CheckpointedFunction,
    DataStream,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    MapFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.graph.plan import ExecutionPlan
from penstock.runtime.state.operator_state import redistribute
from penstock.testing import OneInputHarness
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink


class Buffer(MapFunction, CheckpointedFunction):
    """Answer with what has been seen; keep it in all three kinds of operator state.

    What is held between snapshots cannot be pickled, so that nothing else can carry it over.
    """

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.listed = store.get_list_state(ListStateDescriptor("listed"))
        self.united = store.get_union_list_state(ListStateDescriptor("united"))
        self.told = store.get_broadcast_state(MapStateDescriptor("told"))
        self.restored = context.is_restored()
        seen = list(self.listed.get())
        assert seen == list(self.united.get()) == list(self.told.values())
        self.seen: Callable[[], list[Any]] = lambda: seen

    def map(self, value: Any) -> Any:
        self.seen().append(value)
        return list(self.seen())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.listed.update(self.seen())
        self.united.update(self.seen())
        self.told.clear()
        self.told.put_all(dict(enumerate(self.seen())))


class Told(Buffer):
    """Note what is called, where the test can see it."""

    calls: ClassVar[list[str]] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        super().initialize_state(context)
        Told.calls.append(f"initialize {context.is_restored()}")

    def open(self, runtime_context: RuntimeContext) -> None:
        Told.calls.append(f"open {self.seen()}")

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        super().snapshot_state(context)
        at, number = context.get_checkpoint_timestamp(), context.get_checkpoint_id()
        Told.calls.append(f"snapshot {number} at {at}")


def test_state_is_there_before_open_and_after_a_move() -> None:
    Told.calls = []
    harness = OneInputHarness(Told(), processing_time=7)
    harness.process_element("a")
    harness.cut()
    harness.set_processing_time(9)
    harness.move()
    harness.process_element("b")
    assert harness.take_records() == [["a"], ["a", "b"]]
    assert Told.calls == [
        "initialize False",
        "open []",
        "snapshot 1 at 7",
        "snapshot 2 at 9",
        "initialize True",
        "open ['a']",
    ]


def program(build: Callable[[DataStream], DataStream]) -> tuple[ExecutionPlan, RecordingSink]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    sink = RecordingSink()
    build(env.from_collection(list("abcdef"))).sink_to(sink)
    return build_plan(env), sink


EXPECTED = [list("abcdef"[: n + 1]) for n in range(6)]


@pytest.mark.parametrize(
    "build",
    [lambda stream: stream.map(Buffer()), lambda stream: stream.rebalance().map(Buffer())],
    ids=["at the source", "in a slot"],
)
@pytest.mark.parametrize("workers", [("a",), ("a", "b"), ("b", "a", "b")])
def test_in_a_job_with_replays_and_restarts(
    build: Callable[[DataStream], DataStream], workers: tuple[str, ...], tmp_path: Path
) -> None:
    plan, sink = program(build)
    job = LocalJob(plan, tmp_path, cuts=2)
    job.step(workers)
    job.ask()
    job.attempt()
    LocalJob(plan, tmp_path, cuts=2).run(workers)
    assert sink.values() == EXPECTED


def test_slots_that_go_to_and_fro_between_workers(tmp_path: Path) -> None:
    """A worker that has seen the slot before goes on from it: no new instance, no initialize."""
    plan, sink = program(lambda stream: stream.rebalance().map(CountedBuffer()))
    CountedBuffer.initialized = 0
    job = LocalJob(plan, tmp_path, cuts=1)
    for batch in range(6):
        job.step(("ab"[batch % 2],))
    job.run()
    assert sink.values() == [(n, n) for n in range(1, 7)]
    assert CountedBuffer.initialized == 2


class CountedBuffer(MapFunction, CheckpointedFunction):
    initialized = 0

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        CountedBuffer.initialized += 1
        descriptor = ListStateDescriptor("seen")
        self.state = context.get_operator_state_store().get_list_state(descriptor)
        self.count = len(list(self.state.get()))

    def map(self, value: Any) -> Any:
        self.count += 1
        self.state.add(value)
        return self.count, len(list(self.state.get()))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass


class BufferingSink(SinkFunction, CheckpointedFunction):
    """Write records in threes; the rest waits in operator state. Flink's own example."""

    written: ClassVar[list[Any]] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor("waiting")
        self.state = context.get_operator_state_store().get_list_state(descriptor)
        self.waiting = list(self.state.get())

    def invoke(self, value: Any, context: Any) -> None:
        self.waiting.append(value)
        if len(self.waiting) == 3:
            BufferingSink.written.append(self.waiting)
            self.waiting = []

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update(self.waiting)


def test_a_sink_that_waits_for_more(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_collection(list("abcdefg")).add_sink(BufferingSink())
    BufferingSink.written = []
    job = LocalJob(build_plan(env), tmp_path, cuts=2)
    for worker in "xyxyx":
        job.step((worker,))
    job.close()
    assert BufferingSink.written == [list("abc"), list("def")]


class LargeMap(MapFunction, CheckpointedFunction):
    """Change one entry of many: only that one is to be written."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.entries = store.get_broadcast_state(MapStateDescriptor("entries"))
        self.elements = store.get_list_state(ListStateDescriptor("elements"))

    def map(self, value: Any) -> Any:
        if value == "fill":
            self.entries.put_all({n: f"{n:100}" for n in range(1000)})
            self.elements.update([f"{n:99}!" for n in range(1000)])
        else:
            self.entries.put(1, value)
            self.elements.add(value)
        return value

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass


def test_a_batch_writes_what_changed_in_it() -> None:
    harness = OneInputHarness(LargeMap())
    harness.process_element("fill")
    harness.cut()
    harness.process_element("one")
    harness.cut()
    first, second = map(len, harness._log)
    assert first > 100_000
    assert second < 2_000


def test_a_list_that_is_saved_as_it_was_is_not_written() -> None:
    harness = OneInputHarness(LargeMap())
    harness.process_element("fill")
    harness.cut()
    state: Any = harness.operator.context.operator_state.get_list_state(
        ListStateDescriptor("elements")
    )
    state.update(list(state.get()))
    assert harness.operator.take_delta() == {}
    state.update([1, *list(state.get())[1:]])
    harness.operator.take_delta()
    state.update([True, *list(state.get())[1:]])
    assert len(harness.operator.take_delta()) == 1


@pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
@pytest.mark.parametrize("states", [[[1, 2, 3], [4], []], [[]], [[1], [2], [3], [4]]])
def test_lists_are_dealt_out_evenly(states: list[list[int]], parallelism: int) -> None:
    shares = redistribute("operator-list", states, parallelism)
    assert [e for share in shares for e in share] == [e for state in states for e in state]
    sizes = sorted(map(len, shares))
    assert len(shares) == parallelism
    assert sizes[-1] - sizes[0] <= 1
