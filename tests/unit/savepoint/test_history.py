"""What is known of a job's checkpoints."""

from __future__ import annotations

from pathlib import Path

from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink


def test_checkpoints_are_told_and_kept(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    stream = env.from_collection([(n % 50, f"{n:0>100}") for n in range(200)]).key_by(
        lambda p: p[0]
    )
    stream.reduce(lambda a, b: b).uid("last").sink_to(RecordingSink()).uid("out")
    plan, now = build_plan(env), [1000]

    def clock() -> int:
        now[0] += 5
        return now[0]

    job = LocalJob(plan, tmp_path / "job", cuts=50, poll_ms=0, clock=clock)
    for _ in range(3):
        job.step()
    path = job.savepoint(tmp_path / "savepoints")
    checkpoints = job.coordinator.checkpoints()
    assert [each.number for each in checkpoints] == [0, 1, 2, 3]
    assert [each.savepoint for each in checkpoints] == [None, None, None, path]
    first = checkpoints[0]
    assert first.duration > 0
    written = {uid: sum(by_subtask) for uid, by_subtask in first.written.items()}
    assert first.bytes_written >= sum(written.values()) > 50 * 100
    assert written["last"] > 50 * 100 > written["out"]
    # Both subtasks of the reduce have keys, and say how much they wrote and hold.
    assert len(first.written["last"]) == 2 and min(first.written["last"]) > 0
    assert len(first.state["last"]) == 2 and min(first.state["last"]) > 0
    # The same keys again: the state is as large as before, not twice as large.
    assert 5_000 < checkpoints[-1].state_size < 60_000
    # Another process knows of them too.
    again = LocalJob(plan, tmp_path / "job", cuts=50, poll_ms=0, clock=clock)
    assert again.coordinator.checkpoints() == checkpoints
