"""A task's life: opened once, carried from worker to worker, closed at its end."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.functions import (
    IntCounter,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    RuntimeContext,
)
from penstock.core.io import Committer, CommitterContext, Sink, SinkWriter, WriterContext
from penstock.core.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.errors import UserFunctionError
from penstock.graph.specs import (
    Custom,
    KeyedProcessSpec,
    MapSpec,
    Rebalance,
    ReduceSpec,
    Shuffle,
    SinkSpec,
)
from penstock.runtime.state import log as log_module
from tests.unit.runtime.plans import Input, Planner
from tests.unit.runtime.runner import Runner, batch, outputs

pytestmark = pytest.mark.usefixtures("backend")

HAPPENED: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_has_happened() -> None:
    HAPPENED.clear()


class Living(MapFunction):
    """Tells of its life, and counts in an attribute."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.count = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        HAPPENED.append(f"open {self.name}{runtime_context.get_index_of_this_subtask()}")

    def close(self) -> None:
        HAPPENED.append(
            f"close {self.name}{self.get_runtime_context().get_index_of_this_subtask()}"
        )

    def map(self, value: Any) -> Any:
        if value == "fail":
            raise ValueError("asked to")
        self.count += 1
        return self.count, value


def living(level: int, parallelism: int = 1, **settings: Any) -> Runner:
    """Return a job whose function stands at level 0 or 1."""
    plan = Planner(parallelism)
    source = plan.source(parallelism=parallelism)
    function = Living()
    plan.sink(plan.add(MapSpec(function), Input(source, Rebalance()) if level else source))
    return Runner(plan.build(**settings))


@pytest.mark.parametrize("level", [0, 1])
def test_a_function_is_opened_once_in_every_worker_and_keeps_its_attributes(level: int) -> None:
    job = living(level)
    for number, worker in enumerate("xxyxyz"):
        job.run({0: [number]}, worker=worker)
    assert job.values() == [(n + 1, n) for n in range(6)]
    assert HAPPENED == ["open 0"] * 3


@pytest.mark.parametrize("level", [0, 1])
def test_subtasks_have_functions_of_their_own(level: int) -> None:
    job = living(level, parallelism=2)
    job.run({0: {0: ["a", "b"], 1: ["c", "d"]}})
    assert [value[0] for value in job.values()] == [1, 2, 1, 2]
    assert sorted(HAPPENED) == ["open 0", "open 1"]


@pytest.mark.parametrize("level", [0, 1])
def test_a_task_that_fails_leaves_nothing_behind(level: int) -> None:
    job = living(level)
    job.run({0: ["a"]})
    for _ in range(2):
        with pytest.raises(UserFunctionError):
            job.run({0: ["b", "fail"]})
    job.run({0: ["c"]})
    assert job.values() == [(1, "a"), (2, "c")]
    assert HAPPENED == ["open 0", "close 0"] * 2 + ["open 0"], "the broken ones were closed"


@pytest.mark.parametrize("level", [0, 1])
def test_an_attempt_that_does_not_count_is_forgotten(level: int) -> None:
    job = living(level)
    job.run({0: ["a"]})
    job.run({0: ["b", "c"]}, commit=False)
    job.run({0: ["b"]})
    assert job.values() == [(1, "a"), (2, "b")]
    assert HAPPENED == ["open 0", "close 0", "open 0"]


@pytest.mark.parametrize("level", [0, 1])
def test_functions_are_closed_when_the_input_ends(level: int) -> None:
    job = living(level)
    job.run({0: ["a"]})
    assert HAPPENED == ["open 0"]
    job.run({0: ["b"]}, ended=True)
    assert HAPPENED == ["open 0", "close 0"]
    job.run()
    assert HAPPENED == ["open 0", "close 0"]
    job.run(worker="other")
    assert HAPPENED == ["open 0", "close 0"] * 2
    assert job.values() == [(1, "a"), (2, "b")]


def test_functions_are_closed_when_their_worker_needs_the_room() -> None:
    plan = Planner(parallelism=2)
    source = plan.source()
    big = plan.add(MapSpec(Living()), Input(source, Rebalance()))
    plan.sink(plan.keyed(ReduceSpec(lambda a, b: b), big, lambda value: value))
    job = Runner(plan.build())
    job.plan.settings["penstock.worker.cache-bytes"] = 1
    job.run({0: ["a", "b"]})
    job.run({0: ["c", "d"]})
    assert "close 0" in HAPPENED
    assert sorted(job.values()) == [(1, "a"), (1, "b"), (2, "c"), (2, "d")]


def test_selectors_and_partitioners_live_as_functions_do() -> None:
    plan = Planner(parallelism=2)
    source = plan.source()
    chosen = plan.add(MapSpec(lambda value: value), Input(source, Custom(Turns(), Whole())))
    plan.sink(chosen)
    job = Runner(plan.build())
    for worker in "xyx":
        job.run({0: ["a"]}, worker=worker)
    job.run(ended=True)
    assert [subtask for subtask, _, _ in job.written["sink"]] == [1, 0, 1]
    assert HAPPENED.count("selector open") == HAPPENED.count("turns open") >= 2
    assert HAPPENED[-2:] == ["turns close", "selector close"]


class Whole(KeySelector):
    def open(self, runtime_context: RuntimeContext) -> None:
        HAPPENED.append("selector open")

    def close(self) -> None:
        HAPPENED.append("selector close")

    def get_key(self, value: Any) -> Any:
        return value


class Turns(Partitioner):
    turn = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        HAPPENED.append("turns open")

    def close(self) -> None:
        HAPPENED.append("turns close")

    def partition(self, key: Any, num_partitions: int) -> int:
        self.turn += 1
        return self.turn % num_partitions


def test_round_robin_and_shuffle_go_on_in_any_worker() -> None:
    for partitioner in (Rebalance(), Shuffle()):
        runs = []
        for workers in ("xxxxxx", "xyyxzx"):
            plan = Planner(parallelism=3)
            source = plan.source()
            moved = plan.add(MapSpec(lambda value: value), Input(source, partitioner))
            plan.sink(plan.add(MapSpec(lambda value: value), Input(moved, partitioner)))
            job = Runner(plan.build())
            for number, worker in enumerate(workers):
                job.run({0: range(number)}, worker=worker)
            runs.append(job.written["sink"])
        assert runs[0] == runs[1]


class Counting(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.counter = IntCounter()
        runtime_context.add_accumulator("records", self.counter)

    def map(self, value: Any) -> Any:
        self.counter.add(1)
        return value


@pytest.mark.parametrize("partitioner", [None, Rebalance()])
def test_accumulators_add_up_over_batches_and_workers(partitioner: Any) -> None:
    plan = Planner()
    source = plan.source()
    counting = plan.add(MapSpec(Counting()), Input(source, partitioner) if partitioner else source)
    plan.sink(counting)
    job = Runner(plan.build())
    job.run({0: [1, 2]}, worker="x")
    assert job.accumulators[f"uid-{counting}", 0]["records"].get_local_value() == 2
    report = job.run({0: [3]}, worker="y")
    assert report.accumulators[f"uid-{counting}", 0]["records"].get_local_value() == 3
    report = job.run(worker="x")
    assert report.accumulators == {}, "nothing new, nothing told"
    job.run({0: [4]}, worker="x")
    assert job.accumulators[f"uid-{counting}", 0]["records"].get_local_value() == 4


class OpenPart(SinkWriter):
    """Keeps a part open over batches until it is full."""

    def __init__(self, restored: Any) -> None:
        self.part: list[Any] = restored or []

    def write(self, value: Any, timestamp: int | None) -> None:
        self.part.append(value)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        if len(self.part) < 3 and not end_of_input:
            return []
        part, self.part = self.part, []
        return [pickle.dumps((part, None))] if part else []

    def snapshot_state(self) -> Any:
        return list(self.part) or None

    def close(self) -> None:
        HAPPENED.append(f"writer closed with {len(self.part)}")


class PartSink(Sink):
    def create_writer(self, context: WriterContext) -> SinkWriter:
        return OpenPart(context.restored)

    def create_committer(self, context: CommitterContext) -> Committer:
        raise AssertionError("nobody publishes")


@pytest.mark.parametrize("partitioner", [None, Rebalance()])
def test_a_sink_writer_goes_on_in_any_worker(partitioner: Any) -> None:
    plan = Planner()
    source = plan.source()
    plan.add(SinkSpec(PartSink()), Input(source, partitioner) if partitioner else source, name="s")
    job = Runner(plan.build())
    for number, worker in enumerate("xxyxyyx"):  # full in y: x must not go on with its old part
        job.run({0: [number]}, worker=worker)
    job.run({0: ["last"]}, ended=True, worker="y")
    assert job.values("s") == [[0, 1, 2], [3, 4, 5], [6, "last"]]
    assert HAPPENED[-1] == "writer closed with 0"


# --- any state, any worker --------------------------------------------------------------------


def plus(a: Any, b: Any) -> Any:
    return a + b


class Concat:
    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[Any]) -> Any:
        return tuple(accumulator)


class Commanded(KeyedProcessFunction):
    """Do to its state what records say; answer with all that it holds for the key."""

    def __init__(self) -> None:
        self.calls = 0
        self.seen: dict[Any, list[Any]] = {}

    def open(self, runtime_context: RuntimeContext) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))
        self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", plus))
        self.all = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("all", Concat(), None)
        )

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        key, command, argument = value
        self.calls += 1
        self.seen.setdefault(key, []).append(command)
        timers = ctx.timer_service()
        if command == "grow":
            held = self.value.value() or []
            held.append(argument)
            self.value.update(held)
        elif command == "grow in place":
            (self.value.value() or []).append(argument)
        elif command == "list":
            self.list.add([argument])
        elif command == "put":
            self.map.put(argument % 4, [argument])
        elif command == "change":
            for entry in self.map.values():
                entry.append(argument)
        elif command == "drop":
            self.map.remove(argument % 4)
        elif command == "add":
            self.sum.add(argument)
            self.all.add(argument)
        elif command == "clear":
            for state in (self.value, self.list, self.map, self.sum, self.all):
                state.clear()
        elif command == "timer":
            timers.register_event_time_timer(timers.current_processing_time() + argument)
            timers.register_processing_time_timer(timers.current_processing_time() + argument)
        elif command == "fail":
            raise ValueError("asked to")
        yield self._all(key)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        self.map.put("timer", [timestamp])
        yield timestamp, ctx.time_domain().name, self._all(ctx.get_current_key())

    def _all(self, key: Any) -> Any:
        states = self.value.value(), self.list.get(), list(self.map.items())
        return key, self.calls, states, self.sum.get(), self.all.get(), self.seen.get(key)


commands = st.tuples(
    st.sampled_from(["a", "b", 1, ("c", 2)]),
    st.sampled_from(
        ["grow", "grow in place", "list", "put", "change", "drop", "add", "clear", "timer"]
    ),
    st.integers(0, 9),
)
troubled_batch = st.tuples(
    st.lists(commands, max_size=6),
    st.integers(0, 3),  # watermark and processing time go on by this much
    st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(["forget", "fail"])), max_size=2),
    st.sampled_from("xyz"),
)


def commanded() -> Runner:
    plan = Planner(parallelism=2)
    source = plan.source()
    keyed = plan.keyed(KeyedProcessSpec(Commanded()), source, lambda value: value[0])
    plan.sink(plan.add(MapSpec(Living()), Input(keyed, Rebalance())))
    return Runner(plan.build())


@settings(max_examples=60, deadline=None)
@given(st.lists(troubled_batch, max_size=12))
def test_whatever_happens_to_workers_the_output_is_that_of_a_calm_run(batches: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in {
            "_MIN_LOG_BYTES": 300, "_MERGED": 3, "_TAIL_BYTES": 100,
            "_MIN_SWEEP_BYTES": 1, "_SWEEP_STEP": 1,
        }.items():  # fmt: skip
            monkeypatch.setattr(log_module, name, value)
        calm, troubled = commanded(), commanded()
        time = 0
        for records, later, attempts, worker in batches:
            time += later
            read = {0: watermarked(records, time)}
            calm.run(read, time=time)
            for place, outcome in attempts:
                if outcome == "fail":
                    broken = {0: watermarked([*records, ("a", "fail", 0)], time)}
                    with pytest.raises(UserFunctionError):
                        troubled.run(broken, time=time, worker=place)
                else:
                    report = troubled.run(read, time=time, worker=place, commit=False)
                    again = troubled.run(read, time=time, worker=worker, commit=False)
                    assert outputs(troubled.plan, again) == outputs(troubled.plan, report)
            troubled.run(read, time=time, worker=lambda level, slot, w=worker: (w, level, slot))
        assert troubled.written == calm.written
        assert troubled.timers == calm.timers


def watermarked(records: list[Any], time: int) -> Any:
    return batch(records, [time] * len(records), [(len(records) // 2, time)])
