"""Files of rows: what formats make of them, with partitions and metadata beside the content."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import IO, Any

import pyarrow as pa

from penstock.connectors.avro_schema import AvroSchema
from penstock.connectors.file_paths import store_of
from penstock.connectors.file_sink.avro import AvroWriterFactory
from penstock.connectors.file_sink.formats import PartFormat
from penstock.connectors.file_sink.orc import OrcWriterFactory
from penstock.connectors.file_sink.parquet import ParquetWriterFactory
from penstock.connectors.file_source.avro_format import AvroFileFormat
from penstock.connectors.file_source.file_format import FileFormat, FilePiece
from penstock.connectors.file_source.orc_format import read_stripes
from penstock.connectors.file_source.orc_format import row_bytes as orc_row_bytes
from penstock.connectors.file_source.parquet_format import (
    cast_column,
    read_batches,
    row_bytes,
)
from penstock.connectors.file_source.stream_format import BulkFormat, StreamFormat
from penstock.graph.relational import types as t
from penstock.table.arrow_types import arrow_schema, from_arrow
from penstock.table.factories.base import TableContext
from penstock.table.factories.filesystem.partitions import PartitionNames
from penstock.table.factories.formats.avro_format import avro_schema, from_avro, to_avro
from penstock.table.factories.formats.base import FormatContext, RowFormat
from penstock.table.factories.formats.registry import (
    FORMATS,
    find_format,
    format_context,
    unknown_format,
)

_UTC = datetime.timezone.utc
#: How many rows are made of columns at once.
_BATCH = 8192
METADATA: dict[str, t.LogicalType] = {
    "file.path": t.STRING.not_null(),
    "file.name": t.STRING.not_null(),
    "file.size": t.BIGINT.not_null(),
    "file.modification-time": t.LocalZonedTimestampType(precision=3, is_nullable=False),
}
_FILE_FORMATS = sorted({*FORMATS, "orc", "parquet"} - {"avro-confluent"})


@dataclass(frozen=True)
class RowFiles:
    """How the content of files is read and written."""

    reading: FileFormat
    writing: PartFormat
    bulk: bool = False
    kinds: frozenset[str] = frozenset("I")


def find_files(context: TableContext, content: t.RowType) -> RowFiles:
    """Return the format of files that a table names.

    :param content: the columns that stand in the files: all but those of the partitions.
    """
    name = context.required("format")
    if name not in _FILE_FORMATS:
        raise unknown_format(context, name, _FILE_FORMATS)
    if name == "parquet":
        options = format_context(context, "format", frozenset({"compression", "utc-timezone"}))
        codec = options.options.get("compression", "SNAPPY").lower()
        schema = arrow_schema(content)
        writing = ParquetWriterFactory(schema, "none" if codec == "uncompressed" else codec)
        return RowFiles(ParquetRows(content), writing.part_format(), bulk=True)
    if name == "orc":
        options = format_context(context, "format", frozenset({"compress"}))
        factory = OrcWriterFactory(arrow_schema(content), options.options.get("compress", "zlib"))
        return RowFiles(OrcRows(content), factory.part_format(), bulk=True)
    if name == "avro":
        return _avro_files(format_context(context, "format", frozenset(
            {"codec", "timestamp_mapping.legacy", "encoding"}), content))  # fmt: skip
    row_format = find_format(context, schema=content)
    lines = LineRows(row_format, row_format.context.options.get("charset", "UTF-8"))
    return RowFiles(lines, EncodedRows(row_format), kinds=row_format.kinds)


def _avro_files(options: FormatContext) -> RowFiles:
    codec = options.choice("codec", "null", "null", "deflate", "bzip2", "xz")
    schema = AvroSchema.parse_string(json.dumps(avro_schema(options.schema)))
    writing = ConvertedRows(AvroWriterFactory(schema, codec).part_format(), options.schema)
    return RowFiles(AvroRowFiles(options.schema, schema), writing, bulk=True)


# ---- reading


class LineRows(FileFormat):
    """Lines of text, each a row."""

    def __init__(self, row_format: RowFormat, charset: str) -> None:
        self._lines = StreamFormat.text_line_format(charset)
        self._format = row_format

    def is_divisible(self, path: str) -> bool:
        return self._lines.is_divisible(path)

    def record_bytes(self, path: str, size: int) -> float:
        return self._lines.record_bytes(path, size)

    def read(self, piece: FilePiece) -> Iterator[list[Any]]:
        yield from map(self._format.decode_lines, self._lines.read(piece))


class ColumnarRows(BulkFormat):
    """Base: files by columns. A column that a file does not have is NULL."""

    def __init__(self, schema: t.RowType) -> None:
        self._schema = schema

    def is_divisible(self, path: str) -> bool:
        return True

    def batches(self, piece: FilePiece) -> Iterator[pa.RecordBatch]:
        """Yield the columns that a piece has."""
        raise TypeError("abstract")

    def read(self, piece: FilePiece) -> Iterator[list[Any]]:
        fields = list(arrow_schema(self._schema))
        converters = [from_arrow(kind) for kind in self._schema.children()]
        for batch in self.batches(piece):
            columns = []
            for field, convert in zip(fields, converters, strict=True):
                values = cast_column(piece, batch, field).to_pylist()
                if convert is not None:
                    values = [None if value is None else convert(value) for value in values]
                columns.append(values)
            yield list(zip(*columns, strict=True))


class ParquetRows(ColumnarRows):
    """Parquet files."""

    def record_bytes(self, path: str, size: int) -> float:
        return row_bytes(path, size)

    def batches(self, piece: FilePiece) -> Iterator[pa.RecordBatch]:
        return read_batches(piece, _BATCH, self._schema.names(), True)


class OrcRows(ColumnarRows):
    """ORC files."""

    def record_bytes(self, path: str, size: int) -> float:
        return orc_row_bytes(path, size)

    def batches(self, piece: FilePiece) -> Iterator[pa.RecordBatch]:
        return read_stripes(piece, _BATCH, self._schema.names())


class AvroRowFiles(BulkFormat):
    """Avro's container files. A field that a file does not have is NULL."""

    def __init__(self, schema: t.RowType, avro: AvroSchema) -> None:
        self._schema = schema
        self._files = AvroFileFormat(avro)

    def is_divisible(self, path: str) -> bool:
        return self._files.is_divisible(path)

    def record_bytes(self, path: str, size: int) -> float:
        return self._files.record_bytes(path, size)

    def read(self, piece: FilePiece) -> Iterator[list[Any]]:
        convert = from_avro(self._schema)
        assert convert is not None
        for records in self._files.read(piece):
            yield [convert(record) for record in records]


class TableFiles(BulkFormat):
    """Files of a table: their content, the values of their partition, and what is asked of them.

    :param places: for each physical column its place in content and partition values together.
    """

    def __init__(
        self,
        inner: FileFormat,
        partitions: PartitionNames,
        places: tuple[int, ...],
        metadata: tuple[str, ...],
        *,
        changes: bool,
    ) -> None:
        self._inner = inner
        self._partitions = partitions
        self._places = places
        self._metadata = metadata
        self.changes = changes

    def is_divisible(self, path: str) -> bool:
        return self._inner.is_divisible(path)

    def record_bytes(self, path: str, size: int) -> float:
        return self._inner.record_bytes(path, size)

    def read(self, piece: FilePiece) -> Iterator[list[Any]]:
        if not self._partitions.keys and not self._metadata:
            return self._inner.read(piece)
        return self._with_more(piece)

    def _with_more(self, piece: FilePiece) -> Iterator[list[Any]]:
        tail = self._partitions.values(piece.path.rpartition("/")[0])
        more = tuple(_metadata(key, piece) for key in self._metadata)
        ordered = self._places == tuple(range(len(self._places)))
        pick = picker(self._places)
        for rows in self._inner.read(piece):
            if self.changes:
                yield [(*pick((*row[:-1], *tail)), *more, row[-1]) for row in rows]
            elif ordered:
                end = tail + more
                yield [row + end for row in rows]
            else:
                yield [(*pick(row + tail), *more) for row in rows]


def _metadata(key: str, piece: FilePiece) -> Any:
    if key == "file.path":
        return piece.path
    if key == "file.name":
        return piece.path.rpartition("/")[2]
    if key == "file.size":
        return piece.size
    status = store_of(piece.path).status(piece.path)
    milliseconds = 0 if status is None else status.modified // 1_000_000
    epoch = datetime.datetime(1970, 1, 1, tzinfo=_UTC)
    return epoch + datetime.timedelta(milliseconds=milliseconds)


def picker(places: Sequence[int]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what takes some columns of a row."""
    if len(places) == 1:
        place = places[0]
        return lambda row: (row[place],)
    return itemgetter(*places) if places else lambda row: ()


# ---- writing


class EncodedRows(PartFormat):
    """Rows as lines."""

    is_plain = True

    def __init__(self, row_format: RowFormat) -> None:
        self._format = row_format

    def encoder(self) -> Callable[[Any], bytes]:
        encode = self._format.encode
        return lambda row: (encode(row) or b"") + b"\n"

    def assemble(self, packs: Iterator[IO[bytes]], stream: IO[bytes]) -> None:
        raise AssertionError("lines are not assembled")


class ChangedRows(PartFormat):
    """Base: another format, whose rows are changed first."""

    def __init__(self, inner: PartFormat) -> None:
        self._inner = inner
        self.is_plain = inner.is_plain

    def changer(self) -> Callable[[Any], Any]:
        """Return what is done to each row."""
        raise TypeError("abstract")

    def encoder(self) -> Callable[[Any], bytes]:
        encode, change = self._inner.encoder(), self.changer()
        return lambda row: encode(change(row))

    def pack(self, records: list[bytes]) -> bytes:
        return self._inner.pack(records)

    def assemble(self, packs: Iterator[IO[bytes]], stream: IO[bytes]) -> None:
        self._inner.assemble(packs, stream)


class PickedRows(ChangedRows):
    """Some columns of the rows only: those of the partition stand in the folder's name."""

    def __init__(self, inner: PartFormat, places: tuple[int, ...]) -> None:
        super().__init__(inner)
        self._places = places

    def changer(self) -> Callable[[Any], Any]:
        return picker(self._places)


class ConvertedRows(ChangedRows):
    """Rows as records of Avro."""

    def __init__(self, inner: PartFormat, schema: t.RowType) -> None:
        super().__init__(inner)
        self._schema = schema

    def changer(self) -> Callable[[Any], Any]:
        return to_avro(self._schema) or tuple
