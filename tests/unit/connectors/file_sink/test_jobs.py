"""File sinks in whole jobs: beside the source and behind an exchange, killed at any point."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from penstock.common import Configuration, Encoder, Types, WatermarkStrategy
from penstock.common.serialization import BulkWriter, BulkWriterFactory
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    EventTimeBucketAssigner,
    FileSink,
    OnCheckpointRollingPolicy,
    RollingPolicy,
    StreamingFileSink,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import UserFunctionError
from penstock.graph.plan import ExecutionPlan
from penstock.testing import ManualClock
from penstock.testing.local_executor import LocalJob
from tests.unit.connectors.file_sink.sinks import finished, unfinished
from tests.unit.testing.recording import Forever

SECOND = 1000
PLACES = ["beside the source", "behind an exchange"]


def environment(parallelism: int = 2, **settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.runtime-mode", "STREAMING")
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    return env


def file_sink(base: Path, policy: RollingPolicy[Any]) -> FileSink:
    builder = FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    return builder.with_rolling_policy(policy).build()


def placed(stream: DataStream, place: str) -> DataStream:
    return stream if place == PLACES[0] else stream.key_by(lambda value: value).map(lambda v: v)


def plan_of(place: str, base: Path, policy: RollingPolicy[Any], records: int) -> ExecutionPlan:
    env = environment()
    placed(env.from_collection(list(range(records))), place).sink_to(file_sink(base, policy))
    return build_plan(env)


def numbers(base: Path) -> list[int]:
    return sorted(int(line) for text in finished(base).values() for line in text.split())


@pytest.mark.parametrize("place", PLACES)
def test_a_bounded_job_leaves_finished_parts_only(place: str, tmp_path: Path) -> None:
    base = tmp_path / "out"
    plan = plan_of(place, base, RollingPolicy.default_rolling_policy(part_size=20), 100)
    LocalJob(plan, tmp_path / "job", cuts=7).run(("a", "b"))
    assert numbers(base) == list(range(100))
    assert unfinished(base) == []
    assert {name[:7] for name in finished(base)} == {"part-0-", "part-1-"}


class Lines(BulkWriterFactory[Any]):
    """A bulk format of the user's."""

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        return LineWriter(stream)


class LineWriter(BulkWriter[Any]):
    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def add_element(self, element: Any) -> None:
        self.stream.write(f"{element}\n".encode())

    def flush(self) -> None:
        self.stream.flush()

    def finish(self) -> None:
        self.stream.flush()


def sink_of(kind: str, base: Path) -> FileSink:
    if kind == "by size":
        return file_sink(base, RollingPolicy.default_rolling_policy(part_size=15))
    if kind == "by checkpoint":
        return file_sink(base, OnCheckpointRollingPolicy())
    builder = FileSink.for_bulk_format(str(base), Lines())
    return builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["by size", "by checkpoint", "bulk"])
@pytest.mark.parametrize("seed", range(5))
def test_dying_at_any_step_in_any_worker(place: str, kind: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(f"{place} {kind} {seed}")
    base = tmp_path / "out"
    env = environment()
    clock = ManualClock(50 * SECOND)
    interval = chance.choice([None, 5 * SECOND])
    if interval is not None:
        env.enable_checkpointing(interval)
    placed(env.from_collection(list(range(60))), place).sink_to(sink_of(kind, base))
    plan = build_plan(env)

    def die(point: float) -> None:
        if chance.random() < point:
            raise KeyboardInterrupt

    def run() -> None:
        job = LocalJob(
            plan, tmp_path / "job", cuts=6, publish_interval_ms=interval, clock=clock, poll_ms=1
        )
        while not job.coordinator.finished.is_set():
            clock.advance(SECOND)
            if not job.ask():
                continue
            die(0.05)
            for _ in range(chance.choice([1, 1, 2, 3])):
                job.attempt(lambda level, subtask: chance.randrange(3))
            die(0.05)
            job.log_commit()
            die(0.05)
        job.close()

    seen: dict[str, str] = {}
    for _ in range(200):
        try:
            run()
            break
        except KeyboardInterrupt:
            found = finished(base)
            assert {name: found[name] for name in seen} == seen
            assert len(numbers(base)) == len(set(numbers(base)))
            seen = found
    assert numbers(base) == list(range(60))
    assert unfinished(base) == []


@pytest.mark.parametrize("place", PLACES)
def test_an_idle_job_rolls_when_the_time_has_come(place: str, tmp_path: Path) -> None:
    base = tmp_path / "out"
    env = environment(1)
    policy = RollingPolicy.default_rolling_policy(
        rollover_interval=60 * SECOND, inactivity_interval=5 * SECOND
    )
    stream = env.from_source(Forever([1, 2]), WatermarkStrategy.no_watermarks(), "forever")
    placed(stream, place).sink_to(file_sink(base, policy))
    clock = ManualClock(100 * SECOND)
    job = LocalJob(build_plan(env), tmp_path / "job", clock=clock, poll_ms=0)
    assert job.run_while_there_is_input() == 1
    clock.advance(5 * SECOND - 1)
    assert job.step() is None
    assert finished(base) == {}
    clock.advance(1)
    assert job.run_while_there_is_input() == 1
    assert finished(base) == {"part-0-0": "1\n2\n"}
    clock.advance(1000 * SECOND)
    assert job.step() is None, "nothing is left to do"
    job.close()


@pytest.mark.parametrize("place", PLACES)
def test_checkpoints_are_rare_if_they_are_to_be(place: str, tmp_path: Path) -> None:
    base = tmp_path / "out"
    env = environment(1)
    env.enable_checkpointing(10 * SECOND)
    stream = env.from_source(Forever(range(6)), WatermarkStrategy.no_watermarks(), "forever")
    placed(stream, place).sink_to(file_sink(base, OnCheckpointRollingPolicy()))
    clock = ManualClock(101 * SECOND)
    job = LocalJob(
        build_plan(env), tmp_path / "job", clock=clock, cuts=1, poll_ms=0,
        publish_interval_ms=10 * SECOND,
    )  # fmt: skip
    for _ in range(6):
        job.step()
        clock.advance(4 * SECOND)  # batches at 101, 105, 109, 113, 117, 121 seconds
    assert finished(base) == {"part-0-0": "0\n1\n2\n3\n"}
    assert job.step() is None
    assert finished(base) == {"part-0-0": "0\n1\n2\n3\n", "part-0-1": "4\n5\n"}
    assert job.step() is None
    job.close()


def test_event_hours_of_a_stream_with_watermarks(tmp_path: Path) -> None:
    base = tmp_path / "out"
    env = environment()
    hour = 3600 * SECOND
    first = 1_711_832_400_000  # 2024-03-30T21:00Z: two hours before midnight in Amsterdam
    times = [first + step * hour // 4 for step in range(24)]
    builder = FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
    builder.with_bucket_assigner(EventTimeBucketAssigner(zone_id="Europe/Amsterdam"))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, timestamp: value
    )
    env.from_collection(times).assign_timestamps_and_watermarks(strategy).sink_to(builder.build())
    LocalJob(build_plan(env), tmp_path / "job", cuts=5).run(("a", "b"))
    found: dict[str, list[int]] = {}
    for name, text in finished(base).items():
        found.setdefault(name.partition("/")[0], []).extend(map(int, text.split()))
    assert {bucket: sorted(values) for bucket, values in found.items()} == {
        bucket: times[4 * number : 4 * number + 4]
        for number, bucket in enumerate(
            ["2024-03-30--22", "2024-03-30--23", "2024-03-31--00", "2024-03-31--01",
             "2024-03-31--03", "2024-03-31--04"]
        )
    }  # fmt: skip


def test_declared_types_are_written_as_flink_writes_them(tmp_path: Path) -> None:
    env = environment(1)
    pairs = env.from_collection(
        [("a", True), ("b", False)], type_info=Types.TUPLE([Types.STRING(), Types.BOOLEAN()])
    )
    builder = StreamingFileSink.for_row_format(
        str(tmp_path / "out"), Encoder.simple_string_encoder()
    )
    builder.with_bucket_assigner(ByWord())
    pairs.add_sink(builder.build())
    LocalJob(build_plan(env), tmp_path / "job").run()
    assert finished(tmp_path / "out") == {
        "a/part-0-0": "(a,true)\n",
        "b/part-0-1": "(b,false)\n",
    }


class ByWord(BucketAssigner[Any]):
    """Sees the record itself, not what is written of it."""

    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        return str(element[0])


def test_two_sinks_in_one_folder(tmp_path: Path) -> None:
    base = tmp_path / "out"
    env = environment(1)
    policy = RollingPolicy.default_rolling_policy(part_size=10)
    stream = env.from_collection(list(range(40)))
    sink = file_sink(base, policy)
    stream.filter(lambda value: value % 2 == 0).sink_to(sink)
    stream.filter(lambda value: value % 2 == 1).sink_to(sink)
    plan = build_plan(env)
    for _ in range(4):
        job = LocalJob(plan, tmp_path / "job", cuts=5)
        job.step()
        job.ask()
        job.attempt("killed")
    LocalJob(plan, tmp_path / "job", cuts=5).run(("a", "b"))
    assert numbers(base) == list(range(40))
    assert unfinished(base) == []


class Broken(BucketAssigner[Any]):
    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        return str(1 // element)


def test_an_assigner_that_raises_is_named_with_its_record(tmp_path: Path) -> None:
    env = environment(1)
    builder = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
    env.from_collection([1, 0]).sink_to(builder.with_bucket_assigner(Broken()).build())
    with pytest.raises(UserFunctionError) as caught:
        LocalJob(build_plan(env), tmp_path / "job").run()
    assert caught.value.what == (
        "get_bucket_id() of operator 'Sink: Unnamed' raised "
        "ZeroDivisionError: integer division or modulo by zero"
    )
    assert caught.value.got == "record 0"
    assert unfinished(tmp_path / "out") == []
