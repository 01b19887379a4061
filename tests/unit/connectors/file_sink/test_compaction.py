"""Parts that are compacted: each record once, in fewer files, whatever dies."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Encoder
from penstock.common.serialization import SimpleStringEncoder
from penstock.common.typeinfo import Types
from penstock.connectors.file_sink import FileSinkBuilder
from penstock.connectors.file_sink.committer import FileSinkCommitter
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    OnCheckpointRollingPolicy,
    RollingPolicy,
)
from penstock.datastream.formats.compress import CompressWriters
from penstock.datastream.formats.parquet import ParquetBulkWriters
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import ConfigurationError
from penstock.testing.local_executor import LocalJob
from tests.unit.connectors.file_sink.sinks import SinkDriver, finished, unfinished
from tests.unit.connectors.file_sink.test_jobs import environment, numbers

SECOND = 1000
CONCAT = FileCompactor.concat_file_compactor()


def after(checkpoints: int) -> FileCompactStrategy:
    builder = FileCompactStrategy.builder()
    return builder.enable_compaction_on_checkpoint(checkpoints).build()


def beyond(size: int) -> FileCompactStrategy:
    return FileCompactStrategy.builder().set_size_threshold(size).build()


def builder(
    base: Path, strategy: FileCompactStrategy, compactor: FileCompactor = CONCAT
) -> FileSinkBuilder[FileSink]:
    return (
        FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .enable_compact(strategy, compactor)
    )


def test_parts_wait_until_enough_checkpoints_have_passed(tmp_path: Path) -> None:
    base = tmp_path / "out"
    driver = SinkDriver(builder(base, after(3)), tmp_path / "journal")
    driver.batch("a")
    driver.batch("b")
    assert finished(base) == {}
    driver.batch("c")
    assert finished(base) == {"compacted-part-0-0": "a\nb\nc\n"}
    assert unfinished(base) == []


def test_checkpoints_pass_without_input(tmp_path: Path) -> None:
    base = tmp_path / "out"
    driver = SinkDriver(builder(base, after(3)), tmp_path / "journal", interval=10 * SECOND)
    driver.batch("a")
    driver.idle_until(15 * SECOND)
    assert finished(base) == {}
    driver.idle_until(35 * SECOND)
    assert finished(base) == {"compacted-part-0-0": "a\n"}
    assert driver.next_wakeup() is None


def test_parts_wait_until_there_is_enough_of_them(tmp_path: Path) -> None:
    base = tmp_path / "out"
    driver = SinkDriver(
        builder(base, beyond(6), FileCompactor.concat_file_compactor(b"--\n")), tmp_path / "journal"
    )
    for value in "abcd":
        driver.batch(value)
    assert finished(base) == {"compacted-part-0-0": "a\n--\nb\n--\nc\n"}
    driver.batch(end=True)
    assert finished(base) == {
        "compacted-part-0-0": "a\n--\nb\n--\nc\n",
        "compacted-part-0-3": "d\n",
    }
    assert unfinished(base) == []


def test_parts_that_are_left_as_they_are(tmp_path: Path) -> None:
    base = tmp_path / "out"
    compactor = FileCompactor.identical_file_compactor()
    driver = SinkDriver(builder(base, after(2), compactor), tmp_path / "journal")
    driver.batch("a")
    assert finished(base) == {}
    driver.batch("b")
    assert finished(base) == {"part-0-0": "a\n", "part-0-1": "b\n"}


def test_what_waits_outlives_the_process_and_the_setting(tmp_path: Path) -> None:
    base = tmp_path / "out"
    driver = SinkDriver(builder(base, after(5)), tmp_path / "journal")
    driver.batch("a")
    driver.restart()
    driver.batch("b")
    assert finished(base) == {}
    driver.sink = builder(base, after(5)).disable_compact().build()
    driver.restart()
    driver.batch("c")
    assert finished(base) == {"part-0-0": "a\n", "part-0-1": "b\n", "part-0-2": "c\n"}
    assert unfinished(base) == []


@pytest.mark.parametrize("step", ["compacted", "noted", "renamed", "removed"])
def test_dying_while_a_file_gets_its_name(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "out"
    driver = SinkDriver(builder(base, after(2)), tmp_path / "journal")
    driver.batch("a")
    driver.batch("b", publish=False)
    committer = driver.committer
    assert isinstance(committer, FileSinkCommitter)

    class Killed(Exception):
        pass

    def die(*_: Any) -> Any:
        raise Killed

    with monkeypatch.context() as patch:
        if step == "compacted":
            patch.setattr(committer, "_note", die)
        elif step == "noted":
            patch.setattr(committer._store, "rename", die)
        elif step == "renamed":
            patch.setattr(committer._store, "delete", die)
        else:
            note = committer._note
            patch.setattr(committer, "_note", lambda: note() if committer._batch < 1 else die())
        with pytest.raises(Killed):
            driver.publish()
    driver.restart()
    driver.batch(end=True)
    assert finished(base) == {"compacted-part-0-0": "a\nb\n"}
    assert unfinished(base) == []


@pytest.mark.parametrize("seed", range(6))
def test_a_job_that_dies_at_any_step(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    base = tmp_path / "out"
    env = environment()
    strategy = chance.choice([after(1), after(2), after(4), beyond(20)])
    numbered = env.from_collection(list(range(60))).key_by(lambda n: n).map(lambda n: n)
    numbered.sink_to(builder(base, strategy).build())
    plan = build_plan(env)
    for _ in range(100):
        job = LocalJob(plan, tmp_path / "job", cuts=6, poll_ms=1)
        while not job.coordinator.finished.is_set() and chance.random() < 0.85:
            if job.ask():
                job.attempt(lambda level, subtask: chance.randrange(3))
                if chance.random() < 0.9:
                    job.log_commit()
                else:
                    break
        if job.coordinator.finished.is_set():
            job.close()
            break
        assert len(numbers(base)) == len(set(numbers(base)))
    assert numbers(base) == list(range(60))
    assert unfinished(base) == []
    assert all(name.startswith("compacted-part-") for name in finished(base))


def test_compressed_parts_are_compacted_too(tmp_path: Path) -> None:
    base = tmp_path / "out"
    factory = CompressWriters.for_extractor(SimpleStringEncoder()).with_hadoop_compression("gzip")
    sink = (
        FileSink.for_bulk_format(str(base), factory)
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(OnCheckpointRollingPolicy())
        .enable_compact(after(2), CONCAT)
    )
    driver = SinkDriver(sink, tmp_path / "journal")
    driver.batch("a")
    driver.batch("b")
    [file] = [path for path in base.iterdir() if not path.name.startswith(".")]
    assert gzip.decompress(file.read_bytes()) == b"a\nb\n"


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        FileCompactStrategy.builder().build()
    assert str(caught.value) == (
        "the strategy does not say when to compact\n"
        "  where: FileCompactStrategy.builder()\n"
        "  to do: call enable_compaction_on_checkpoint() or set_size_threshold()"
    )
    row = Types.ROW_NAMED(["n"], [Types.INT()])
    parquet = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(row))
    with pytest.raises(ConfigurationError, match="are not read any more when one is put behind"):
        parquet.enable_compact(after(1), CONCAT)
    with pytest.raises(ConfigurationError, match="takes a whole number above zero"):
        FileCompactStrategy.builder().set_size_threshold(0)
