"""CSV in messages and files, under PyFlink's module path."""

from penstock.common.formats.csv_rows import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from penstock.connectors.csv_schema import CsvSchema, CsvSchemaBuilder
from penstock.connectors.file_sink.csv_rows import CsvBulkWriters
from penstock.connectors.file_source.csv_format import CsvReaderFormat

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
