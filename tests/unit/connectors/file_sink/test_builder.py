"""Building file sinks: PyFlink's names and the classic ones, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from penstock.common import Duration, Encoder, Types
from penstock.common.serialization import SimpleStringEncoder
from penstock.connectors.file_paths import register_file_system
from penstock.datastream.connectors.file_system import (
    BasePathBucketAssigner,
    DateTimeBucketAssigner,
    DefaultRollingPolicy,
    FileSink,
    OutputFileConfig,
    StreamingFileSink,
)
from penstock.datastream.formats.compress import CompressWriters
from penstock.datastream.formats.parquet import ParquetBulkWriters
from penstock.errors import ConfigurationError
from tests.unit.connectors.file_sink.sinks import SinkDriver, finished, unfinished


def test_the_classic_names(tmp_path: Path) -> None:
    config = OutputFileConfig.builder().with_part_prefix("prefix").with_part_suffix(".txt").build()
    policy = (
        DefaultRollingPolicy.builder()
        .with_rollover_interval(Duration.of_seconds(2))
        .with_inactivity_interval(1000)
        .with_max_part_size(1024 * 1024 * 1024)
        .build()
    )
    sink = SinkDriver(
        StreamingFileSink.for_row_format(str(tmp_path / "out"), SimpleStringEncoder("UTF-8"))
        .with_bucket_assigner(DateTimeBucketAssigner("yyyy", "UTC"))
        .with_rolling_policy(policy)
        .with_output_file_config(config),
        tmp_path / "journal",
        now=1,
    )
    sink.batch(["é", "b"])
    sink.idle_until(1001)
    assert finished(tmp_path / "out") == {"1970/prefix-0-0.txt": "é\nb\n"}


class Shouting(Encoder[str]):
    """An encoder of the user's."""

    def encode(self, element: str, stream: BinaryIO) -> None:
        stream.write(element.upper().encode("utf-16-le"))
        stream.write("!".encode("utf-16-le"))


def test_an_encoder_of_the_users(tmp_path: Path) -> None:
    builder = FileSink.for_row_format(str(tmp_path / "out"), Shouting())
    builder.with_bucket_assigner(BasePathBucketAssigner())
    sink = SinkDriver(builder, tmp_path / "journal")
    sink.batch(["a", "b"], end=True)
    assert (tmp_path / "out" / "part-0-0").read_bytes().decode("utf-16-le") == "A!B!"


def test_a_charset_that_lacks_a_character(tmp_path: Path) -> None:
    encoder = Encoder.simple_string_encoder("ISO-8859-1")
    builder = FileSink.for_row_format(str(tmp_path / "out"), encoder)
    builder.with_bucket_assigner(BasePathBucketAssigner())
    sink = SinkDriver(builder, tmp_path / "journal")
    sink.batch(["é", "中"], end=True)
    assert (tmp_path / "out" / "part-0-0").read_bytes() == b"\xe9\n?\n"


def test_another_file_system_without_appending(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    inner = fs.SubTreeFileSystem(str(tmp_path / "store"), fs.LocalFileSystem())
    register_file_system("parts-test", inner)
    encoder = Encoder.simple_string_encoder()
    builder = FileSink.for_row_format("parts-test://lake/out/", encoder)
    builder.with_bucket_assigner(DateTimeBucketAssigner("'hour='HH", "UTC"))
    sink = SinkDriver(builder, tmp_path / "journal")
    for number in range(20):
        sink.batch([number], worker=f"worker {number % 2}")
        sink.attempt(["lost"], "killed")
    sink.restart()
    sink.batch([20], end=True)
    lines = "".join(f"{number}\n" for number in range(21))
    assert finished(tmp_path / "store") == {"lake/out/hour=00/part-0-0": lines}
    assert unfinished(tmp_path / "store") == []


def test_bulk_parts_on_another_file_system(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    inner = fs.SubTreeFileSystem(str(tmp_path / "store"), fs.LocalFileSystem())
    register_file_system("bulk-test", inner)
    row_type = Types.ROW_NAMED(["n"], [Types.INT()])
    factories = {
        "parquet": ParquetBulkWriters.for_row_type(row_type),
        "gzip": CompressWriters.for_extractor().with_hadoop_compression("gzip"),
    }
    for name, factory in factories.items():
        builder = FileSink.for_bulk_format(f"bulk-test://{name}", factory)
        builder.with_bucket_assigner(BasePathBucketAssigner())
        sink = SinkDriver(builder, tmp_path / f"journal {name}", batch_mode=True)
        sink.batch([(1,), (2,)])
        sink.batch([(3,)], "other", end=True)
    store = tmp_path / "store"
    assert pq.read_table(store / "parquet" / "part-0-0")["n"].to_pylist() == [1, 2, 3]
    packed = (store / "gzip" / "part-0-0").read_bytes()
    assert gzip.decompress(packed) == b"(1,)\n(2,)\n(3,)\n"
    assert unfinished(store) == []


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda builder: builder.with_rolling_policy("daily"),
         "with_rolling_policy() takes a RollingPolicy\n"
         "  where: with_rolling_policy()\n"
         "  got:   'daily'\n"
         "  to do: pass an object of a subclass of RollingPolicy"),
        (lambda builder: builder.with_bucket_check_interval(0),
         "the bucket check interval must be a whole number above zero\n"
         "  where: with_bucket_check_interval(interval)\n"
         "  got:   0\n"
         "  to do: pass milliseconds"),
        (lambda builder: DefaultRollingPolicy.builder().with_max_part_size(0).build(),
         "the part size of a rolling policy must be a whole number above zero\n"
         "  where: DefaultRollingPolicy\n"
         "  got:   0\n"
         "  to do: pass bytes for the size, milliseconds for the intervals"),
        (lambda builder: OutputFileConfig("a/b", ""),
         "the prefix of a part's name must be text without a slash\n"
         "  where: OutputFileConfig\n"
         "  got:   'a/b'\n"
         "  to do: choose folders with a bucket assigner"),
    ],
)  # fmt: skip
def test_settings_that_are_refused(call: Any, text: str) -> None:
    builder = FileSink.for_row_format("out", Encoder.simple_string_encoder())
    with pytest.raises(ConfigurationError) as caught:
        call(builder)
    assert str(caught.value) == text
