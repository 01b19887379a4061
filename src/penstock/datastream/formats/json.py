"""JSON in messages and files, under PyFlink's module path; JSON lines are Penstock's own."""

from penstock.common.formats.json_rows import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from penstock.connectors.file_source.json_lines import JsonLinesFormat

__all__ = ["JsonLinesFormat", "JsonRowDeserializationSchema", "JsonRowSerializationSchema"]
