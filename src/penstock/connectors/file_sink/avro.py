"""Parts in Avro, through fastavro. Records are staged as blocks of an Avro file."""

from __future__ import annotations

import importlib
import io
import pickle
from collections.abc import Callable, Iterator
from typing import IO, Any, BinaryIO

from penstock.common.serialization import BulkWriter, BulkWriterFactory
from penstock.connectors.avro_schema import AvroSchema
from penstock.connectors.file_sink.formats import PartFormat, StagedFactory
from penstock.connectors.file_sink.frames import frame, pieces
from penstock.connectors.file_sink.record_fields import field_reader
from penstock.errors import ConfigurationError, SinkError


class AvroBulkWriters:
    """Write records to Avro files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory[Any]:
        """Return a factory for dicts, rows or dataclasses with the fields of the schema.

        :raises ConfigurationError: if fastavro is not installed.
        """
        return AvroWriterFactory(schema)


def _fastavro() -> Any:
    try:
        return importlib.import_module("fastavro")
    except ImportError:
        raise ConfigurationError(
            "Avro files need the package fastavro",
            where="AvroBulkWriters",
            todo="install it with: pip install 'penstock[avro]'",
        ) from None


class AvroWriterFactory(StagedFactory):
    """Make writers of Avro files.

    :param codec: how blocks are packed, by Avro's name.
    """

    def __init__(self, schema: AvroSchema, codec: str = "null") -> None:
        _fastavro().parse_schema(schema.definition)
        self._format = AvroFormat(schema, codec)

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        return _AvroWriter(self._format, stream)

    def part_format(self) -> PartFormat:
        return self._format


class AvroFormat(PartFormat):
    """Records as small Avro files while a part is open; their blocks make the part."""

    def __init__(self, schema: AvroSchema, codec: str = "null") -> None:
        self.schema = schema
        self.codec = codec

    def encoder(self) -> Callable[[Any], bytes]:
        definition = self.schema.definition
        if not isinstance(definition, dict) or definition.get("type") != "record":
            return lambda value: pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        names = [field["name"] for field in definition["fields"]]
        read = field_reader(names)

        def encode(record: Any) -> bytes:
            values = dict(zip(names, read(record), strict=True))
            return pickle.dumps(values, pickle.HIGHEST_PROTOCOL)

        return encode

    def pack(self, records: list[bytes]) -> bytes:
        file = io.BytesIO()
        avro = _fastavro()
        try:
            avro.writer(file, self._parsed(), map(pickle.loads, records), self.codec)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise SinkError(
                "a record does not have the fields of the Avro schema",
                got=f"{type(error).__name__}: {error}",
                todo="map the stream to records of the schema before the sink",
            ) from error
        return frame(file.getvalue())

    def assemble(self, packs: Iterator[IO[bytes]], stream: IO[bytes]) -> None:
        avro = _fastavro()
        writer = avro.write.Writer(stream, self._parsed(), self.codec)
        for piece in pieces(packs):
            for block in avro.block_reader(io.BytesIO(piece)):
                writer.write_block(block)
        writer.flush()

    def _parsed(self) -> Any:
        return _fastavro().parse_schema(self.schema.definition)


class _AvroWriter(BulkWriter[Any]):
    """For whoever writes a file by hand."""

    def __init__(self, part_format: AvroFormat, stream: BinaryIO) -> None:
        self._format = part_format
        self._encode = part_format.encoder()
        self._records: list[bytes] = []
        self._stream = stream

    def add_element(self, element: Any) -> None:
        self._records.append(self._encode(element))

    def flush(self) -> None:
        """Wait: the records of a file are written together."""

    def finish(self) -> None:
        self._format.assemble(iter([io.BytesIO(self._format.pack(self._records))]), self._stream)
