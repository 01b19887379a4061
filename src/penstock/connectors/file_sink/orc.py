"""Parts in ORC, through pyarrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

import pyarrow as pa
from pyarrow import orc

from penstock.common import Configuration
from penstock.common.serialization import BulkWriterFactory
from penstock.connectors.arrow_types import arrow_schema, file_row_type
from penstock.connectors.file_sink.arrow_parts import ArrowFormat, ArrowWriterFactory
from penstock.errors import ConfigurationError

_CODECS = ("lz4", "none", "snappy", "zlib", "zstd")


class OrcBulkWriters:
    """Write rows to ORC files."""

    @staticmethod
    def for_row_type(
        row_type: Any,
        writer_properties: Configuration | Mapping[str, str] | None = None,
        hadoop_config: Any = None,
    ) -> BulkWriterFactory[Any]:
        """Return a factory for rows, tuples, dicts or dataclasses with these fields.

        :param row_type: `Types.ROW_NAMED(names, types)` or `DataTypes.ROW([fields])`.
        :param writer_properties: of ORC's settings only `orc.compress` is looked at: ZLIB by
            default, SNAPPY, LZ4, ZSTD, NONE.
        :param hadoop_config: there is no Hadoop here.

        >>> from penstock.common import Types
        >>> rows = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.LONG()])
        >>> factory = OrcBulkWriters.for_row_type(rows)
        """
        settings = writer_properties or {}
        if isinstance(settings, Configuration):
            settings = settings.to_dict()
        codec = settings.get("orc.compress", "zlib")
        return OrcWriterFactory(arrow_schema(file_row_type(row_type)), codec)


class OrcWriterFactory(ArrowWriterFactory):
    """Make writers of ORC files.

    :raises ConfigurationError: if there is no such compression, or a column is a time of day.
    """

    def __init__(self, schema: pa.Schema, compression: str) -> None:
        codec = compression.lower()
        if codec not in _CODECS:
            raise ConfigurationError(
                "ORC files are not compressed so",
                got=f"'orc.compress' = {compression!r}",
                todo=f"use one of: {', '.join(_CODECS)}",
            )
        for field in schema:
            if pa.types.is_time(field.type):
                raise ConfigurationError(
                    "an ORC file has no times of day",
                    got=f"column {field.name!r} of type {field.type}",
                    todo="write it as a text or a timestamp",
                )
        super().__init__(OrcFormat(schema, codec))


class OrcFormat(ArrowFormat):
    """Parts as ORC files."""

    def open_writer(self, stream: IO[bytes]) -> _OrcWriter:
        codec = "uncompressed" if self.compression == "none" else self.compression
        return _OrcWriter(stream, self.schema, codec)


class _OrcWriter:
    """A file that has a schema even if nothing is written to it."""

    def __init__(self, stream: IO[bytes], schema: pa.Schema, codec: str) -> None:
        self._writer = orc.ORCWriter(stream, compression=codec)
        self._schema = schema
        self._is_empty = True

    def write_table(self, table: pa.Table) -> None:
        self._writer.write(table)
        self._is_empty = False

    def close(self) -> None:
        if self._is_empty:
            self._writer.write(self._schema.empty_table())
        self._writer.close()
