"""Schemas: how records become bytes, and bytes records, at the edges of a job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, BinaryIO, Generic, TypeVar

from penstock.common.formats.avro_rows import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
)
from penstock.common.formats.csv_rows import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from penstock.common.formats.json_rows import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from penstock.common.message_schemas import DeserializationSchema, SerializationSchema
from penstock.common.typeinfo import TypeInformation, Types
from penstock.errors import SerializationError, show_value

__all__ = [
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "DeserializationSchema",
    "Encoder",
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringEncoder",
    "SimpleStringSchema",
]

T = TypeVar("T")


class SimpleStringSchema(SerializationSchema[str], DeserializationSchema[str]):
    r"""Strings, in a character set.

    >>> SimpleStringSchema().deserialize(b"caf\xc3\xa9")
    'café'
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        self.charset = charset

    def open(self) -> None:
        pass

    def serialize(self, element: str) -> bytes:
        return str(element).encode(self.charset)

    def deserialize(self, message: bytes) -> str:
        return bytes(message).decode(self.charset)

    def get_produced_type(self) -> TypeInformation:
        return Types.STRING()


class ByteArraySchema(SerializationSchema[bytes], DeserializationSchema[bytes]):
    """Bytes as they are."""

    def open(self) -> None:
        pass

    def serialize(self, element: bytes) -> bytes:
        return bytes(element)

    def deserialize(self, message: bytes) -> bytes:
        return bytes(message)

    def get_produced_type(self) -> TypeInformation:
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema[Any]):
    """One field of a row, which holds bytes already; None becomes no bytes.

    :param field_index: position of the field, from zero.
    """

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise ValueError(f"field_index must be non-negative, got {field_index}")
        self.field_index = field_index

    def serialize(self, element: Any) -> bytes:
        value = element[self.field_index]
        if value is None:
            return b""
        if not isinstance(value, (bytes, bytearray)):
            raise SerializationError(
                "the field does not hold bytes",
                where=f"RowFieldExtractorSchema, field {self.field_index}",
                got=show_value(value),
                todo="turn the field into bytes in a map in front of the sink",
            )
        return bytes(value)


class Encoder(ABC, Generic[T]):
    """Write records to a file, one by one."""

    @abstractmethod
    def encode(self, element: T, stream: BinaryIO) -> None:
        """Write one record."""

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder[Any]:
        """Return an encoder that writes `str(record)` and a line feed."""
        return SimpleStringEncoder(charset_name)


class SimpleStringEncoder(Encoder[Any]):
    """Write `str(record)` and a line feed."""

    def __init__(self, charset_name: str = "UTF-8") -> None:
        self.charset_name = charset_name

    def encode(self, element: Any, stream: BinaryIO) -> None:
        stream.write(f"{element}\n".encode(self.charset_name))


class BulkWriter(ABC, Generic[T]):
    """Write many records in a format that has a head or a tail, such as Parquet."""

    @abstractmethod
    def add_element(self, element: T) -> None:
        """Take one record."""

    @abstractmethod
    def flush(self) -> None:
        """Write what has been taken so far."""

    @abstractmethod
    def finish(self) -> None:
        """Write everything that is left, with the format's tail; do not close the stream."""


class BulkWriterFactory(ABC, Generic[T]):
    """Make bulk writers, one for each file. Must be picklable."""

    @abstractmethod
    def create(self, stream: BinaryIO) -> BulkWriter[T]:
        """Return a writer onto a stream."""
