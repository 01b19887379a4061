"""What an iteration has sent back when a savepoint is taken is read by whoever goes on from it."""

from __future__ import annotations

from pathlib import Path

from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.graph.plan import ExecutionPlan
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink


def plan_of(sink: RecordingSink) -> ExecutionPlan:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    iteration = env.from_collection([5, 9]).uid("numbers").iterate()
    less = iteration.map(lambda number: number - 1).uid("less")
    iteration.close_with(less.filter(lambda number: number > 0).uid("more"))
    less.sink_to(sink).uid("out")
    return build_plan(env)


def test_records_on_their_way_back(tmp_path: Path) -> None:
    before, after = RecordingSink(), RecordingSink()
    job = LocalJob(plan_of(before), tmp_path / "first", poll_ms=0)
    job.step()
    path = job.savepoint(tmp_path / "savepoints", stop=True)
    job.close()
    LocalJob(plan_of(after), tmp_path / "second", poll_ms=0, restore=path).run()
    expected = [*range(5), *range(9)]
    assert before.values()
    assert after.values()
    assert sorted(before.values() + after.values()) == sorted(expected)
