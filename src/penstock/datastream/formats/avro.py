"""Avro in files, under PyFlink's module path."""

from penstock.connectors.avro_schema import AvroSchema, GenericRecordAvroTypeInfo
from penstock.connectors.file_sink.avro import AvroBulkWriters
from penstock.connectors.file_source.avro_format import AvroInputFormat

__all__ = ["AvroBulkWriters", "AvroInputFormat", "AvroSchema", "GenericRecordAvroTypeInfo"]
