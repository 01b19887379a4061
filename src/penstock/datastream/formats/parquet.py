"""Parquet in files, under PyFlink's module path."""

from penstock.connectors.file_sink.parquet import AvroParquetWriters, ParquetBulkWriters
from penstock.connectors.file_source.parquet_format import (
    AvroParquetReaders,
    ParquetColumnarRowInputFormat,
)

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
]
