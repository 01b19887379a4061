"""Parquet files as rows or dicts, read by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from penstock.common.configuration import Configuration
from penstock.connectors.arrow_types import arrow_schema, file_row_type
from penstock.connectors.avro_schema import AvroSchema, GenericRecordAvroTypeInfo
from penstock.connectors.file_paths import store_of
from penstock.connectors.file_source.file_format import FilePiece
from penstock.connectors.file_source.opening import reading
from penstock.connectors.file_source.records import converter, rows, values_of
from penstock.connectors.file_source.stream_format import BulkFormat, StreamFormat
from penstock.errors import SourceError


class ParquetColumnarRowInputFormat(BulkFormat):
    """Read Parquet files; the records are rows of the columns that a ROW type names.

    A column that a file does not have gives None. Row groups are read in parallel: a group belongs
    to the range of bytes in which it starts.

    :param row_type: `Types.ROW_NAMED([names], [types])` or `DataTypes.ROW([fields])`.
    :param hadoop_config: taken for PyFlink's sake, without effect.
    :param batch_size: how many rows are read at once.
    :param is_utc_timestamp: taken for PyFlink's sake, without effect: a time without a zone stays
        what stands in the file.
    :param is_case_sensitive: False to find columns whatever the case of their letters.
    :raises ConfigurationError: if it is no ROW type.
    """

    def __init__(
        self,
        row_type: Any,
        hadoop_config: Configuration | None = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        self._row_type = file_row_type(row_type)
        self._schema = arrow_schema(self._row_type)
        self._batch_size = batch_size
        self._is_case_sensitive = is_case_sensitive
        self.produced_type = self._row_type

    def is_divisible(self, path: str) -> bool:
        return True

    def record_bytes(self, path: str, size: int) -> float:
        return row_bytes(path, size)

    def read(self, piece: FilePiece) -> Iterator[list[Any]]:
        names = self._row_type.get_field_names()
        converters = [converter(kind) for kind in self._row_type.get_field_types()]
        for batch in read_batches(piece, self._batch_size, names, self._is_case_sensitive):
            sensitive = self._is_case_sensitive
            columns = [cast_column(piece, batch, field, sensitive) for field in self._schema]
            pairs = zip(columns, converters, strict=True)
            yield rows(names, [values_of(column, each) for column, each in pairs])


class AvroParquetFormat(StreamFormat):
    """Read Parquet files; the records are dicts of the fields that an Avro schema names."""

    def __init__(self, schema: AvroSchema, batch_size: int = 2048) -> None:
        self._names = [field["name"] for field in schema.definition["fields"]]
        self._batch_size = batch_size
        self.produced_type = GenericRecordAvroTypeInfo(schema)

    def is_divisible(self, path: str) -> bool:
        return True

    def record_bytes(self, path: str, size: int) -> float:
        return row_bytes(path, size)

    def read(self, piece: FilePiece) -> Iterator[list[Any]]:
        for batch in read_batches(piece, self._batch_size, self._names, True):
            missing = [name for name in self._names if name not in batch.schema.names]
            if missing:
                raise SourceError(
                    "a Parquet file does not have all fields of the Avro schema",
                    where=piece.path,
                    got=", ".join(batch.schema.names) or "none of them",
                    todo=f"the file lacks {', '.join(missing)}: correct the schema",
                )
            yield batch.select(self._names).to_pylist(maps_as_pydicts="strict")


class AvroParquetReaders:
    """Make formats that read the records of an Avro schema from Parquet files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat:
        """Return the format for records of a schema; they are dicts."""
        return AvroParquetFormat(schema)


def read_batches(
    piece: FilePiece, batch_size: int, names: list[str], case_sensitive: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the row groups that start in a piece of a file, with those of the columns it has."""
    with reading(piece, unpack=False) as stream, parquet.ParquetFile(stream) as file:
        groups = [
            number
            for number in range(file.num_row_groups)
            if piece.start <= _group_start(file, number) < piece.end
        ]
        wanted = [
            file.schema_arrow.names[found]
            for name in names
            if (found := _position(file.schema_arrow, name, case_sensitive)) is not None
        ]
        for group in groups:
            yield from file.iter_batches(batch_size, row_groups=[group], columns=wanted)


def cast_column(
    piece: FilePiece, batch: pa.RecordBatch, field: pa.Field, case_sensitive: bool = True
) -> pa.Array:
    """Return a column of a batch as one of the declared type; nulls if it has none.

    :raises SourceError: if it is of a type that cannot become the declared one.
    """
    found = _position(batch.schema, field.name, case_sensitive)
    if found is None:
        return pa.nulls(batch.num_rows, field.type)
    column = batch.column(found)
    if column.type == field.type:
        return column
    # Times may have more digits than ours: Flink's own files count nanoseconds.
    exact = not (pa.types.is_timestamp(column.type) and pa.types.is_timestamp(field.type))
    try:
        return column.cast(field.type, safe=exact)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SourceError(
            "a column of a Parquet file is of another type than declared",
            where=f"{piece.path}, column {field.name!r}",
            got=f"{column.type} ({error})",
            todo=f"declare the type of the column; now it is {field.type}",
        ) from None


def _group_start(file: parquet.ParquetFile, number: int) -> int:
    group = file.metadata.row_group(number)
    if group.num_columns == 0:
        return 0
    column = group.column(0)
    dictionary = column.dictionary_page_offset
    data: int = column.data_page_offset
    return data if dictionary is None else min(data, dictionary)


def _position(schema: pa.Schema, name: str, case_sensitive: bool) -> int | None:
    names = schema.names
    if case_sensitive:
        return names.index(name) if name in names else None
    lowered = [each.lower() for each in names]
    return lowered.index(name.lower()) if name.lower() in lowered else None


def row_bytes(path: str, size: int) -> float:
    """Return how many bytes of a file make a row.

    :raises OSError: if it is no Parquet file.
    """
    try:
        with store_of(path).open_input(path) as stream, parquet.ParquetFile(stream) as file:
            return max(size / max(file.metadata.num_rows, 1), 0.01)
    except pa.ArrowException as error:
        raise OSError(str(error)) from error
