"""Avro in messages and files, under PyFlink's module path; with a registry, Flink's Java names."""

from penstock.common.formats.avro_rows import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
)
from penstock.common.formats.confluent_registry import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
    SchemaRegistryClient,
)
from penstock.connectors.avro_schema import AvroSchema, GenericRecordAvroTypeInfo
from penstock.connectors.file_sink.avro import AvroBulkWriters
from penstock.connectors.file_source.avro_format import AvroInputFormat

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
    "GenericRecordAvroTypeInfo",
    "SchemaRegistryClient",
]
