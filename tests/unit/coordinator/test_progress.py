"""What a job says of itself to somebody who waits at a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Duration, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.file_source.source import FileSource
from penstock.connectors.file_source.stream_format import StreamFormat
from penstock.connectors.number_sequence import NumberSequenceSource
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.runtime.coordinator.progress import JobProgress
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import Forever, RecordingSink

NO_WATERMARKS = WatermarkStrategy.no_watermarks()


class Own(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) * 1000


def own_times() -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    return strategy.with_timestamp_assigner(Own())


def environment(parallelism: int = 1) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    return env


def test_nothing_is_known_before_the_first_batch(tmp_path: Path) -> None:
    env = environment()
    env.from_collection([1]).sink_to(RecordingSink())
    job = LocalJob(build_plan(env), tmp_path)
    assert job.coordinator.progress() == JobProgress()
    assert JobProgress().describe(0, 61) == "the first batch, 1:01"
    job.close()


@pytest.mark.parametrize("at_source", [False, True])
def test_records_watermark_and_share(tmp_path: Path, at_source: bool) -> None:
    env = environment()
    source = NumberSequenceSource(1, 8)
    if at_source:
        stream = env.from_source(source, own_times(), "numbers")
    else:
        stream = env.from_source(source, NO_WATERMARKS, "numbers")
        stream = stream.assign_timestamps_and_watermarks(own_times())
    stream.sink_to(RecordingSink())
    job = LocalJob(build_plan(env), tmp_path, cuts=2)
    job.step()
    # The number 2 was the last one: two seconds, less one, less a millisecond.
    assert job.coordinator.progress() == JobProgress(2, 0.25, 999)
    job.step()
    assert job.coordinator.progress() == JobProgress(4, 0.5, 2999)
    job.run()
    assert job.coordinator.progress() == JobProgress(8, 1.0, None)


def test_the_slowest_of_several_sources_tells_the_time(tmp_path: Path) -> None:
    env = environment()
    first = env.from_source(NumberSequenceSource(1, 4), own_times(), "first")
    second = env.from_source(NumberSequenceSource(101, 108), own_times(), "second")
    first.union(second).sink_to(RecordingSink())
    job = LocalJob(build_plan(env), tmp_path, cuts=2)
    job.step()
    assert job.coordinator.progress() == JobProgress(4, (0.5 + 0.25) / 2, 999)
    job.close()


def test_files_know_their_share_and_tasks_count_their_records(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / name).write_text("12345678\n" * 1000)
    builder = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(tmp_path / "in")
    )
    env = environment(2)
    env.from_source(builder.build(), NO_WATERMARKS, "files").sink_to(RecordingSink())
    job = LocalJob(build_plan(env), tmp_path / "job", cuts=500)
    job.step()
    facts = job.coordinator.progress()
    assert facts.records == 500
    assert facts.share == pytest.approx(0.25, abs=0.01)
    job.close()
    # In another process, from where it stands.
    again = LocalJob(build_plan(env), tmp_path / "job", cuts=500)
    again.step()
    facts = again.coordinator.progress()
    assert facts.share == pytest.approx(0.5, abs=0.01)
    assert facts.records == 500
    again.run()
    assert again.coordinator.progress().records == 1500
    assert again.coordinator.progress().share == 1.0


def test_a_job_that_does_not_end_has_no_share(tmp_path: Path) -> None:
    env = environment()
    numbers = env.from_source(NumberSequenceSource(1, 4), NO_WATERMARKS, "numbers")
    numbers.union(env.from_source(Forever([1]), NO_WATERMARKS, "forever")).sink_to(RecordingSink())
    job = LocalJob(build_plan(env), tmp_path)
    job.step()
    assert job.coordinator.progress() == JobProgress(records=5)
    job.close()


def test_the_line() -> None:
    assert JobProgress(1_234_567, 1.0, 0).describe(12, 5) == (
        "[##########] batch 12, 1,234,567 records, watermark 1970-01-01 00:00:00, 246,913/s"
    )
    assert JobProgress(share=0.999).describe(1, 3600) == "[#########-] batch 1"
    assert JobProgress(records=3).describe(1, 3600) == "batch 1, 3 records, 0/s, 60:00"
    assert JobProgress(watermark=10**18).describe(1, 0) == (
        "batch 1, watermark 1000000000000000000, 0:00"
    )
