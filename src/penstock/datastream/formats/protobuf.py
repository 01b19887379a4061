"""Protobuf in messages; PyFlink has no module for it."""

from penstock.common.formats.protobuf_messages import (
    ProtobufDeserializationSchema,
    ProtobufSerializationSchema,
)

__all__ = ["ProtobufDeserializationSchema", "ProtobufSerializationSchema"]
