"""Watermark alignment: who runs ahead too far waits."""

from __future__ import annotations

from pathlib import Path

from penstock.common import Duration, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.testing.clock import ManualClock
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import Forever, RecordingSink


def aligned(drift: int | None) -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[1]
    )
    if drift is None:
        return strategy
    return strategy.with_watermark_alignment("group", Duration.of_millis(drift))


def stream(
    env: StreamExecutionEnvironment, name: str, step: int, strategy: WatermarkStrategy
) -> DataStream:
    records = [(name, number * step) for number in range(100)]
    return env.from_source(Forever(records), strategy, name).set_parallelism(1)


def furthest(sink: RecordingSink) -> dict[str, int]:
    """Return the time of the last record of each source."""
    return dict(sorted(sink.values()))


def run(
    tmp_path: Path, fast: WatermarkStrategy, slow: WatermarkStrategy, restart_after: int = -1
) -> list[dict[str, int]]:
    """Run twenty batches of one record a source; return how far each is after each of them."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    sink = RecordingSink()
    streams = stream(env, "fast", 1000, fast), stream(env, "slow", 100, slow)
    streams[0].union(streams[1]).sink_to(sink)
    plan = build_plan(env)
    job = LocalJob(plan, tmp_path, cuts=1, poll_ms=0, clock=ManualClock(1))
    seen = []
    for number in range(20):
        job.step()
        job.ask()
        seen.append(furthest(sink))
        if number == restart_after:
            job = LocalJob(plan, tmp_path, cuts=1, poll_ms=0, clock=ManualClock(1))
    job.close()
    return seen


def test_a_source_waits_for_a_slower_one_of_its_group(tmp_path: Path) -> None:
    seen = run(tmp_path, aligned(500), aligned(500))
    # Not further ahead than the drift and one batch, but always going on.
    assert all(times["fast"] <= times["slow"] + 500 + 1000 for times in seen)
    assert seen[-1] == {"fast": 3000, "slow": 1900}


def test_without_alignment_everybody_goes_ahead(tmp_path: Path) -> None:
    assert run(tmp_path, aligned(None), aligned(None))[-1] == {"fast": 19_000, "slow": 1900}


def test_one_without_alignment_is_not_held(tmp_path: Path) -> None:
    assert run(tmp_path, aligned(None), aligned(500))[-1]["fast"] == 19_000


def test_alignment_goes_on_after_a_restart(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", aligned(500), aligned(500))
    assert run(tmp_path / "restarted", aligned(500), aligned(500), restart_after=6) == whole
