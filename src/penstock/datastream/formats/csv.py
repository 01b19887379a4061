"""CSV in files, under PyFlink's module path."""

from penstock.connectors.csv_schema import CsvSchema, CsvSchemaBuilder
from penstock.connectors.file_sink.csv_rows import CsvBulkWriters
from penstock.connectors.file_source.csv_format import CsvReaderFormat

__all__ = ["CsvBulkWriters", "CsvReaderFormat", "CsvSchema", "CsvSchemaBuilder"]
