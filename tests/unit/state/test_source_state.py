"""Source functions with operator state and accumulators: they go on where their records ended."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from penstock.core.state import ListStateDescriptor, MapStateDescriptor
from penstock.datastream import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    RuntimeContext,
    SourceFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import PenstockError
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink


class Counting(SourceFunction, CheckpointedFunction):
    """Count up to a number; Flink's own example. What is counted lives in a local variable."""

    def __init__(self, until: int) -> None:
        self.until = until

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.at = store.get_list_state(ListStateDescriptor("at"))
        self.all = store.get_union_list_state(ListStateDescriptor("all"))
        self.told = store.get_broadcast_state(MapStateDescriptor("told"))
        count = sum(self.at.get())
        self.holder = lambda: None  # cannot be pickled, so it is no saved attribute
        self.holder.count = count  # type: ignore[attr-defined]
        assert context.is_restored() is (count > 0)
        assert list(self.all.get()) == ([count] if count else [])
        assert dict(self.told.items()) == ({"count": count} if count else {})

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sent = runtime_context.get_int_counter("sent")
        self.metric = runtime_context.get_metrics_group().counter("sent")

    def run(self, ctx: Any) -> None:
        holder: Any = self.holder
        while holder.count < self.until:
            with ctx.get_checkpoint_lock():
                ctx.collect(holder.count)
                holder.count += 1
                self.sent.add(1)
                self.metric.inc()
            if holder.count % 50 == 0:
                time.sleep(0.02)

    def cancel(self) -> None:
        pass

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        holder: Any = self.holder
        self.at.update([holder.count])
        self.all.clear()
        self.all.add_all([holder.count])
        self.told.put("count", holder.count)


def counting(until: int) -> tuple[Any, RecordingSink]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    sink = RecordingSink()
    env.add_source(Counting(until), "counting").map(lambda n: n * 2).sink_to(sink)
    return build_plan(env), sink


def test_a_source_goes_on_from_its_operator_state(tmp_path: Path) -> None:
    plan, sink = counting(400)
    for _ in range(3):
        # Each of them is stopped in good order but before its end, and made anew.
        job = LocalJob(plan, tmp_path, cuts=40)
        deadline = time.monotonic() + 10
        while job.step() is None and time.monotonic() < deadline:
            pass
        job.close()
    job = LocalJob(plan, tmp_path, cuts=40).run()
    assert sink.values() == [n * 2 for n in range(400)]
    assert job.coordinator.accumulators() == {"sent": 400}
    assert 0 < job.coordinator.metrics()["Source: counting.0.sent"] <= 400


def test_what_was_counted_by_a_source_that_had_ended_is_known_after_a_restart(
    tmp_path: Path,
) -> None:
    plan, sink = counting(60)
    job = LocalJob(plan, tmp_path, cuts=10)
    time.sleep(0.5)  # the function returns; its records wait in the log
    job.step()
    job.close()
    job = LocalJob(plan, tmp_path, cuts=10).run()
    assert sink.values() == [n * 2 for n in range(60)]
    assert job.coordinator.accumulators() == {"sent": 60}


class Twice(Counting):
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        super().initialize_state(context)
        context.get_operator_state_store().get_broadcast_state(MapStateDescriptor("at"))


def test_one_name_is_one_kind(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_source(Twice(5), "counting").sink_to(RecordingSink())
    with pytest.raises(PenstockError) as error:
        LocalJob(build_plan(env), tmp_path).run()
    assert str(error.value) == (
        "operator state 'at' is a list state already, it cannot be a broadcast state too\n"
        "  where: source 'Source: counting'\n"
        "  to do: give each state of a function its own name"
    )
