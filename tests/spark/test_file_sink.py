"""File sinks on Spark: buckets by event time, rolling in an idle job, Parquet by checkpoints."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq
import pytest

from penstock.common import Encoder, JobStatus, Types, WatermarkStrategy
from penstock.datastream import MapFunction, RuntimeContext, SourceFunction
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    EventTimeBucketAssigner,
    FileSink,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.datastream.formats.parquet import ParquetBulkWriters
from penstock.errors import JobCancelledError
from tests.spark.conftest import MakeEnvironment

AMSTERDAM = ZoneInfo("Europe/Amsterdam")
STREAMING = {"execution.runtime-mode": "STREAMING"}


def finished(base: Path) -> list[Path]:
    return sorted(p for p in base.rglob("*") if p.is_file() and not p.name.startswith("."))


def test_event_hours_across_midnight_and_a_change_of_clocks(
    make_env: MakeEnvironment, tmp_path: Path
) -> None:
    env = make_env(**STREAMING, **{"penstock.batch.max-records": "10"})
    start = int(datetime(2024, 3, 30, 22, tzinfo=AMSTERDAM).timestamp() * 1000)
    times = [start + step * 15 * 60_000 for step in range(6 * 4)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, timestamp: value
    )
    builder = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
    builder.with_bucket_assigner(EventTimeBucketAssigner(zone_id="Europe/Amsterdam"))
    stream = env.from_collection(times).assign_timestamps_and_watermarks(strategy)
    stream.key_by(lambda value: value).map(lambda value: value).sink_to(builder.build())
    env.execute("hours")
    found: dict[str, list[int]] = {}
    for part in finished(tmp_path / "out"):
        found.setdefault(part.parent.name, []).extend(map(int, part.read_text().split()))
    hours = ["30--22", "30--23", "31--00", "31--01", "31--03", "31--04"]
    assert {bucket: sorted(values) for bucket, values in found.items()} == {
        f"2024-03-{hour}": times[4 * number : 4 * number + 4] for number, hour in enumerate(hours)
    }
    assert list((tmp_path / "out").rglob(".*")) == []


class Twice(SourceFunction):
    """Send two records, then wait for ever."""

    def __init__(self) -> None:
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        ctx.collect("a")
        ctx.collect("b")
        while self.running:
            time.sleep(0.05)

    def cancel(self) -> None:
        self.running = False


def test_parts_end_by_inactivity_while_no_data_comes(
    make_env: MakeEnvironment, tmp_path: Path
) -> None:
    env = make_env(1)
    stream = env.add_source(Twice())
    for place, sent in (("beside", stream), ("behind", stream.key_by(str).map(str))):
        builder = FileSink.for_row_format(str(tmp_path / place), Encoder.simple_string_encoder())
        builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        policy = RollingPolicy.default_rolling_policy(inactivity_interval=500)
        sent.sink_to(builder.with_rolling_policy(policy).build())
    job = env.submit("inactive")
    parts = [tmp_path / place / "part-0-0" for place in ("beside", "behind")]
    deadline = time.monotonic() + 120
    while not all(part.exists() for part in parts):
        assert time.monotonic() < deadline
        assert job.status() is not JobStatus.FAILED, job.wait()
        time.sleep(0.1)
    assert [part.read_text() for part in parts] == ["a\nb\n"] * 2
    job.cancel()
    with pytest.raises(JobCancelledError):
        job.wait()


class Identified(MapFunction):
    """Add the id of the job."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.job = runtime_context.get_job_id()

    def map(self, value: int) -> tuple[int, str]:
        return value, self.job


def test_parquet_files_are_as_rare_as_checkpoints(
    make_env: MakeEnvironment, tmp_path: Path
) -> None:
    env = make_env(**STREAMING, **{"penstock.batch.max-records": "20"})
    env.enable_checkpointing(3_600_000)
    row_type = Types.ROW_NAMED(["number", "job"], [Types.LONG(), Types.STRING()])
    config = OutputFileConfig.builder().with_part_suffix(".parquet").build()
    builder = FileSink.for_bulk_format(
        str(tmp_path / "out"), ParquetBulkWriters.for_row_type(row_type)
    )
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    stream = env.from_collection(list(range(200))).map(Identified())
    stream.key_by(lambda pair: pair[0]).map(lambda pair: pair).sink_to(
        builder.with_output_file_config(config).build()
    )
    job = env.submit("parquet")
    job.wait()
    parts = finished(tmp_path / "out")
    # One for each subtask; twice as many if the clock strikes the hour.
    assert len(parts) in (2, 4)
    rows = [row for part in parts for row in pq.read_table(part).to_pylist()]
    assert sorted(row["number"] for row in rows) == list(range(200))
    assert {row["job"] for row in rows} == {str(job.job_id)}
    assert list((tmp_path / "out").rglob(".*")) == []
