"""Checkpoints on stores that are named by URLs: Spark's part and Penstock's, together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs
from pyspark.sql import SparkSession

from penstock.connectors.file_paths import register_file_system
from penstock.datastream import DataStream, SourceFunction, StreamExecutionEnvironment
from penstock.errors import ConfigurationError
from penstock.spark.directory import folder_name
from tests.spark.conftest import MakeEnvironment
from tests.spark.test_savepoints import Counting, Place, lines_of, put, wait_until

RETAINED = {"execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"}


@pytest.fixture
def lake(tmp_path: Path, session: SparkSession) -> Iterator[Path]:
    """Serve viewfs://lake/data by Hadoop's own file system of views, and by one of pyarrow's."""
    root = tmp_path / "root"
    (root / "lake" / "data").mkdir(parents=True)
    register_file_system("viewfs", fs.SubTreeFileSystem(str(root), fs.LocalFileSystem()))
    link = "fs.viewfs.mounttable.lake.link./data"
    hadoop: Any = session.sparkContext._jsc.hadoopConfiguration()  # type: ignore[attr-defined]
    hadoop.set(link, (root / "lake" / "data").as_uri())
    hadoop.set("fs.viewfs.impl.disable.cache", "true")
    yield root / "lake" / "data"
    hadoop.unset(link)


class Ticks(SourceFunction):
    """Give a few numbers, received into the log that lies in the checkpoint directory."""

    def run(self, ctx: Any) -> None:
        for number in range(6):
            ctx.collect(f"tick {number}")

    def cancel(self) -> None:
        """Nothing to stop."""


def count(place: Place, env: StreamExecutionEnvironment) -> DataStream:
    counted = place.words(env).key_by(lambda word: word).process(Counting()).uid("count")
    place.sink(counted, rolled=True)
    return counted


@pytest.mark.parametrize("scheme", ["viewfs", "file"])
def test_a_job_goes_on_from_its_checkpoint(
    tmp_path: Path, lake: Path, make_env: MakeEnvironment, scheme: str
) -> None:
    """Stopped, and taken up by another parallelism, which reads the state out of Spark's store."""
    place = Place(tmp_path)
    base = "viewfs://lake/data/jobs" if scheme == "viewfs" else f"{tmp_path.as_uri()}/jobs"
    folder = (lake if scheme == "viewfs" else tmp_path) / "jobs" / folder_name("counted")
    settings = {"execution.checkpointing.dir": base, **RETAINED}
    put(place.input, "one", ["a", "b", "a"])
    env = make_env(2, **settings)
    count(place, env)
    env.add_source(Ticks()).uid("ticks").print()
    client = env.execute_async("counted")
    wait_until(lambda: len(lines_of(place.output)) == 3)
    client.cancel().result()
    assert (folder / "spark" / "commits" / "0").exists()
    assert list((folder / "penstock" / "records").iterdir())
    put(place.input, "two", ["a", "b"])
    env = make_env(1, **settings)
    count(place, env)
    env.add_source(Ticks()).uid("ticks").print()
    client = env.execute_async("counted")
    wait_until(lambda: len(lines_of(place.output)) == 5)
    savepoint = client.stop_with_savepoint(False, f"{base}/savepoints").result()
    assert savepoint.startswith(base if scheme == "viewfs" else str(tmp_path))
    assert lines_of(place.output) == ["a 1", "a 2", "a 3", "b 1", "b 2"]


def test_a_store_that_spark_does_not_have(
    tmp_path: Path, make_env: MakeEnvironment, session: SparkSession
) -> None:
    (tmp_path / "pond").mkdir()
    pond = fs.SubTreeFileSystem(str(tmp_path / "pond"), fs.LocalFileSystem())
    register_file_system("pond", pond)
    env = make_env(1, **{"execution.checkpointing.dir": "pond://jobs"})
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError) as caught:
        env.execute("nowhere")
    assert str(caught.value) == (
        "Spark cannot keep its part of the checkpoint there\n"
        f"  where: job directory pond://jobs/{folder_name('nowhere')}\n"
        "  got:   org.apache.hadoop.fs.UnsupportedFileSystemException: "
        'No FileSystem for scheme "pond"\n'
        "  to do: give Spark the file system of that scheme (spark.jars.packages, "
        "spark.hadoop.fs.*), or name another checkpoint directory"
    )


def test_a_store_that_spark_sees_elsewhere(
    tmp_path: Path, lake: Path, make_env: MakeEnvironment
) -> None:
    elsewhere = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    register_file_system("viewfs", elsewhere)
    env = make_env(1, **{"execution.checkpointing.dir": "viewfs://lake/data/jobs"})
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match="does not see what was written there"):
        env.execute("elsewhere")
