"""Bulk formats: files that are written as a whole, from records of many batches and workers."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, BinaryIO

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Row, Types
from penstock.common.serialization import BulkWriter, BulkWriterFactory
from penstock.connectors.avro_schema import AvroSchema
from penstock.connectors.csv_schema import CsvSchema
from penstock.connectors.file_sink import BucketAssigner, FileSink, RollingPolicy
from penstock.connectors.file_sink import avro as avro_module
from penstock.connectors.file_sink.avro import AvroBulkWriters
from penstock.connectors.file_sink.compress import CompressWriters
from penstock.connectors.file_sink.csv_rows import CsvBulkWriters
from penstock.connectors.file_sink.parquet import AvroParquetWriters, ParquetBulkWriters
from penstock.errors import ConfigurationError, SinkError
from tests.unit.connectors.file_sink.sinks import SinkDriver, unfinished

WORDS = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.LONG()])
ROWS = [("a", 1), ("b", 2), ("c", None), ("d", 4)]
WORD_SCHEMA = """{"type": "record", "name": "Word", "fields": [
    {"name": "word", "type": "string"}, {"name": "count", "type": ["null", "long"]}]}"""


def written(factory: BulkWriterFactory[Any], folder: Path, batches: list[list[Any]]) -> list[Path]:
    """Write batches, each in another worker, with a checkpoint at the end only."""
    base = folder / "out"
    builder = FileSink.for_bulk_format(str(base), factory)
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    sink = SinkDriver(builder, folder / "journal", interval=10_000, now=1)
    for number, batch in enumerate(batches):
        sink.attempt(batch, "one that is forgotten")
        sink.batch(batch, worker=f"worker {number // 2}")
        sink.now += 1
    assert len(unfinished(base)) > 1
    assert [path for path in base.iterdir() if path.name[0] != "."] == []
    sink.now = 10_000
    sink.batch(worker="last")
    assert [name for name in unfinished(base) if "forgotten" in name] == []
    return sorted(path for path in base.iterdir() if path.name[0] != ".")


def test_parquet(tmp_path: Path) -> None:
    factory = ParquetBulkWriters.for_row_type(WORDS)
    batches = [[row] for row in ROWS[:2]] + [ROWS[2:]]
    [part] = written(factory, tmp_path, batches)
    table = pq.read_table(part)
    assert table.schema == pa.schema([("word", pa.string()), ("count", pa.int64())])
    assert [tuple(row.values()) for row in table.to_pylist()] == ROWS
    assert pq.ParquetFile(part).num_row_groups == 1


@dataclass
class Word:
    word: str
    count: int


def test_rows_dicts_and_dataclasses_are_read_by_name(tmp_path: Path) -> None:
    row = Row(word="row", count=1)
    records = [row, {"count": 2, "word": "dict"}, Word("dataclass", 3), {"word": "short"}]
    [part] = written(ParquetBulkWriters.for_row_type(WORDS), tmp_path, [records[:1], records[1:]])
    found = [tuple(record.values()) for record in pq.read_table(part).to_pylist()]
    assert found == [("row", 1), ("dict", 2), ("dataclass", 3), ("short", None)]


def test_nested_parquet_with_utc_times_and_compression(tmp_path: Path) -> None:
    inner = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.INT()])
    row_type = Types.ROW_NAMED(
        ["at", "points", "tags"],
        [Types.SQL_TIMESTAMP(), Types.LIST(inner), Types.MAP(Types.STRING(), inner)],
    )
    factory = ParquetBulkWriters.for_row_type(row_type, {"parquet.compression": "GZIP"}, True)
    moment = datetime(2020, 1, 1, tzinfo=timezone.utc)
    records = [(moment, [Row(x=1, y=2)], {"a": (3, 4)}), (None, None, None)]
    [part] = written(factory, tmp_path, [records[:1], records[1:]])
    first, second = pq.read_table(part).to_pylist()
    assert first == {"at": moment, "points": [{"x": 1, "y": 2}], "tags": [("a", {"x": 3, "y": 4})]}
    assert set(second.values()) == {None}
    assert pq.ParquetFile(part).metadata.row_group(0).column(0).compression == "GZIP"


def test_a_value_that_does_not_fit_its_column(tmp_path: Path) -> None:
    with pytest.raises(SinkError) as caught:
        written(ParquetBulkWriters.for_row_type(WORDS), tmp_path, [[("a", "many")]])
    text = str(caught.value)
    assert text.startswith(
        "a value does not fit into its column\n  got:   column 'count' of type int64: "
    )
    assert text.endswith("  to do: map the stream to the declared types, or declare others")


def test_a_record_with_other_fields(tmp_path: Path) -> None:
    with pytest.raises(SinkError) as caught:
        written(ParquetBulkWriters.for_row_type(WORDS), tmp_path, [["text"]])
    assert str(caught.value) == (
        "a record has other fields than the file's columns\n"
        "  got:   'text' for columns word, count\n"
        "  to do: map the stream to rows with these fields before the sink"
    )


def test_avro(tmp_path: Path) -> None:
    factory = AvroBulkWriters.for_generic_record(AvroSchema.parse_string(WORD_SCHEMA))
    [part] = written(factory, tmp_path, [[ROWS[0]], [Row(*ROWS[1])], ROWS[2:]])
    with part.open("rb") as file:
        records = list(fastavro.reader(file))
    assert [tuple(record.values()) for record in records] == ROWS


def test_avro_records_that_do_not_fit(tmp_path: Path) -> None:
    factory = AvroBulkWriters.for_generic_record(AvroSchema.parse_string(WORD_SCHEMA))
    with pytest.raises(SinkError, match="a record does not have the fields of the Avro schema"):
        written(factory, tmp_path, [[(1.5, 1)]])


def test_avro_without_fastavro(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(avro_module.importlib, "import_module", missing)
    with pytest.raises(ConfigurationError) as caught:
        AvroBulkWriters.for_generic_record(AvroSchema.parse_string(WORD_SCHEMA))
    assert str(caught.value) == (
        "Avro files need the package fastavro\n"
        "  where: AvroBulkWriters\n"
        "  to do: install it with: pip install 'penstock[avro]'"
    )


def test_avro_records_in_parquet(tmp_path: Path) -> None:
    schema = AvroSchema.parse_string(
        """{"type": "record", "name": "Visit", "namespace": "shop", "fields": [
        {"name": "who", "type": {"type": "record", "name": "Person", "fields": [
            {"name": "name", "type": "string"}]}},
        {"name": "friend", "type": ["null", "Person"]},
        {"name": "pages", "type": {"type": "array", "items": "int"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}]}"""
    )
    record = {"who": {"name": "a"}, "friend": None, "pages": [1], "at": datetime(2020, 1, 1)}
    factory = AvroParquetWriters.for_generic_record(schema)
    [part] = written(factory, tmp_path, [[record], [record]])
    at = datetime(2020, 1, 1, tzinfo=timezone.utc)
    assert pq.read_table(part).to_pylist() == [{**record, "at": at}] * 2


@pytest.mark.parametrize(
    ("definition", "what"),
    [
        ('"string"', "the schema of a file must be a record"),
        ('{"type": "record", "name": "R", "fields": [{"name": "f", "type": ["int", "string"]}]}',
         "a column cannot hold a union of several types"),
        ('{"type": "record", "name": "R", "fields": [{"name": "f", "type": ["null", "R"]}]}',
         "a type refers to itself"),
    ],
)  # fmt: skip
def test_avro_schemas_that_parquet_cannot_hold(definition: str, what: str) -> None:
    with pytest.raises(ConfigurationError, match=what):
        AvroParquetWriters.for_generic_record(AvroSchema.parse_string(definition))


def test_csv(tmp_path: Path) -> None:
    schema = (
        CsvSchema.builder().add_string_column("word").add_number_column("count")
        .add_boolean_column("good").add_array_column("tags").set_null_value("-").build()
    )  # fmt: skip
    records = [("a,b", 1, True, ["x", "y"]), ('say "c"', None, False, [])]
    [part] = written(CsvBulkWriters.for_schema(schema), tmp_path, [records[:1], records[1:]])
    assert part.read_text() == '"a,b",1,true,x;y\n"say ""c""",-,false,\n'


def test_csv_with_a_header_and_other_characters(tmp_path: Path) -> None:
    schema = (
        CsvSchema.builder().add_string_column("word").add_number_column("count")
        .set_use_header().set_column_separator("|").set_quote_char("'").set_line_separator("\r\n")
        .build()
    )  # fmt: skip
    batches = [[("a|b", 1)], [("c", 2)], [("d", 3)]]
    [part] = written(CsvBulkWriters.for_schema(schema), tmp_path, batches)
    assert part.read_bytes() == b"word|count\r\n'a|b'|1\r\nc|2\r\nd|3\r\n"


@pytest.mark.parametrize(
    ("codec", "decompress"),
    [
        ("gzip", gzip.decompress),
        ("org.apache.hadoop.io.compress.BZip2Codec", bz2.decompress),
        ("xz", lzma.decompress),
        ("zstd", lambda data: pa.CompressedInputStream(io.BytesIO(data), "zstd").read()),
        ("lz4", lambda data: pa.CompressedInputStream(io.BytesIO(data), "lz4").read()),
    ],
)
def test_compressed_lines(tmp_path: Path, codec: str, decompress: Callable[[bytes], bytes]) -> None:
    factory = CompressWriters.for_extractor().with_hadoop_compression(codec)
    [part] = written(factory, tmp_path, [["a"], ["b", "c"]])
    assert decompress(part.read_bytes()) == b"a\nb\nc\n"


def test_an_extractor_without_compression(tmp_path: Path) -> None:
    factory = CompressWriters.for_extractor(lambda value: value.encode() + b";")
    [part] = written(factory, tmp_path, [["a"], ["b", "c"]])
    assert part.read_bytes() == b"a;b;c;"


def test_an_unknown_compression() -> None:
    with pytest.raises(ConfigurationError) as caught:
        CompressWriters.for_extractor().with_hadoop_compression("rar")
    assert str(caught.value) == (
        "there is no such compression\n"
        "  where: with_hadoop_compression(codec_name)\n"
        "  got:   'rar'\n"
        "  to do: use one of: gzip, bzip2, xz, zstd, lz4"
    )


class Counted(BulkWriterFactory[Any]):
    """A format of the user's: values, and behind them how many there are."""

    class Writer(BulkWriter[Any]):
        def __init__(self, stream: BinaryIO) -> None:
            self.stream = stream
            self.count = 0

        def add_element(self, element: Any) -> None:
            self.count += 1
            self.stream.write(f"{element['n']} ".encode())

        def flush(self) -> None:
            self.stream.flush()

        def finish(self) -> None:
            self.stream.write(f"of {self.count}".encode())

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        return Counted.Writer(stream)


def test_a_writer_of_the_users(tmp_path: Path) -> None:
    record = {"n": 1}

    def changing() -> Any:
        for number in range(1, 4):
            record["n"] = number
            yield record

    base = tmp_path / "out"
    builder = FileSink.for_bulk_format(str(base), Counted())
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    sink = SinkDriver(builder, tmp_path / "journal")
    sink.batch(changing())
    assert (base / "part-0-0").read_text() == "1 2 3 of 3"


@pytest.mark.parametrize(
    "factory",
    [
        ParquetBulkWriters.for_row_type(WORDS),
        AvroBulkWriters.for_generic_record(AvroSchema.parse_string(WORD_SCHEMA)),
        CsvBulkWriters.for_schema(
            CsvSchema.builder().add_string_column("word").add_number_column("count").build()
        ),
        CompressWriters.for_extractor().with_hadoop_compression("gzip"),
        CompressWriters.for_extractor(),
    ],
)
def test_a_file_written_by_hand_is_the_same(
    tmp_path: Path, factory: BulkWriterFactory[Any]
) -> None:
    stream = io.BytesIO()
    writer = factory.create(stream)
    for row in ROWS:
        writer.add_element(row)
    writer.flush()
    writer.finish()
    [part] = written(factory, tmp_path, [ROWS[:2], ROWS[2:]])
    assert len(part.read_bytes()) == pytest.approx(len(stream.getvalue()), abs=60)


def test_bulk_parts_must_end_with_the_checkpoint(tmp_path: Path) -> None:
    builder = FileSink.for_bulk_format(str(tmp_path), Counted())
    with pytest.raises(ConfigurationError) as caught:
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy())
    assert str(caught.value) == (
        "the parts of a bulk format must end with every checkpoint\n"
        "  where: with_rolling_policy(rolling_policy)\n"
        "  got:   DefaultRollingPolicy\n"
        "  to do: use OnCheckpointRollingPolicy, or a subclass of CheckpointRollingPolicy"
    )
