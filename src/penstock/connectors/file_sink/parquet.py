"""Parts in Parquet, through pyarrow."""

from __future__ import annotations

from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common.serialization import BulkWriterFactory
from penstock.connectors.arrow_types import arrow_schema, file_row_type
from penstock.connectors.avro_schema import AvroSchema
from penstock.connectors.file_sink.arrow_parts import ArrowFormat, ArrowWriterFactory
from penstock.connectors.file_sink.avro_to_arrow import avro_as_arrow


class ParquetBulkWriters:
    """Write rows to Parquet files."""

    @staticmethod
    def for_row_type(
        row_type: Any,
        hadoop_config: Any = None,
        utc_timestamp: bool = False,
    ) -> BulkWriterFactory[Any]:
        """Return a factory for rows, tuples, dicts or dataclasses with these fields.

        :param row_type: `Types.ROW_NAMED(names, types)`, `DataTypes.ROW([fields])` or a schema of
            pyarrow's.
        :param hadoop_config: there is no Hadoop here; of its keys only `parquet.compression` is
            looked at (SNAPPY by default, GZIP, ZSTD, UNCOMPRESSED ...), in a dict.
        :param utc_timestamp: times without a zone are taken and marked as UTC.

        >>> from penstock.common import Types
        >>> rows = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.LONG()])
        >>> factory = ParquetBulkWriters.for_row_type(rows)
        """
        is_arrow = isinstance(row_type, pa.Schema)
        schema = row_type if is_arrow else arrow_schema(file_row_type(row_type))
        if utc_timestamp:
            schema = pa.schema([_in_utc(field) for field in schema])
        codec = str((hadoop_config or {}).get("parquet.compression", "SNAPPY")).lower()
        return ParquetWriterFactory(schema, "none" if codec == "uncompressed" else codec)


class AvroParquetWriters:
    """Write records of an Avro schema to Parquet files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory[Any]:
        """Return a factory for dicts that have the fields of the schema."""
        return ParquetWriterFactory(avro_as_arrow(schema), "none")


def _in_utc(field: pa.Field) -> pa.Field:
    if pa.types.is_timestamp(field.type) and field.type.tz is None:
        return field.with_type(pa.timestamp(field.type.unit, "UTC"))
    return field


class ParquetWriterFactory(ArrowWriterFactory):
    """Make writers of Parquet files."""

    def __init__(self, schema: pa.Schema, compression: str) -> None:
        super().__init__(ParquetFormat(schema, compression))


class ParquetFormat(ArrowFormat):
    """Parts as Parquet files."""

    def open_writer(self, stream: IO[bytes]) -> pq.ParquetWriter:
        return pq.ParquetWriter(stream, self.schema, compression=self.compression)
