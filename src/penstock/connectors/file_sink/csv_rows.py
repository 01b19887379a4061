"""Parts in CSV, by a schema."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable, Iterator
from typing import IO, Any, BinaryIO

from penstock.common.serialization import BulkWriter, BulkWriterFactory
from penstock.connectors.csv_schema import CsvColumn, CsvSchema
from penstock.connectors.file_sink.formats import PartFormat, StagedFactory
from penstock.connectors.file_sink.record_fields import field_reader


class CsvBulkWriters:
    """Write rows to CSV files."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory[Any]:
        """Return a factory for rows, tuples, dicts or dataclasses with the schema's columns.

        >>> from penstock.connectors.csv_schema import CsvSchema
        >>> schema = CsvSchema.builder().add_string_column("word").add_number_column("n").build()
        >>> factory = CsvBulkWriters.for_schema(schema)
        """
        return CsvWriterFactory(schema)


class CsvWriterFactory(StagedFactory):
    """Make writers of CSV files."""

    def __init__(self, schema: CsvSchema) -> None:
        self._format = CsvFormat(schema)

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        return _CsvWriter(self._format, stream)

    def part_format(self) -> PartFormat:
        return self._format


class CsvFormat(PartFormat):
    """Lines of fields; in front of them a header if the schema wants one."""

    def __init__(self, schema: CsvSchema) -> None:
        self._schema = schema
        self.is_plain = not schema.settings.use_header

    def encoder(self) -> Callable[[Any], bytes]:
        columns = self._schema.columns
        read = field_reader([column.name for column in columns])
        null = self._schema.settings.null_value or ""
        texts = [_text_of(column, null) for column in columns]
        write_line = self._line_writer()

        def encode(record: Any) -> bytes:
            return write_line([text(v) for text, v in zip(texts, read(record), strict=True)])

        return encode

    def assemble(self, packs: Iterator[IO[bytes]], stream: IO[bytes]) -> None:
        stream.write(self.header())
        for pack in packs:
            shutil.copyfileobj(pack, stream)

    def header(self) -> bytes:
        """Return the first line of a file; empty if there is no header."""
        if self.is_plain:
            return b""
        return self._line_writer()([column.name for column in self._schema.columns])

    def _line_writer(self) -> Callable[[list[str]], bytes]:
        settings = self._schema.settings
        line = io.StringIO(newline="")
        writer = csv.writer(
            line,
            delimiter=settings.column_separator,
            quotechar=settings.quote_char,
            escapechar=settings.escape_char or (None if settings.quote_char else "\\"),
            doublequote=settings.escape_char is None,
            quoting=csv.QUOTE_MINIMAL if settings.quote_char else csv.QUOTE_NONE,
            lineterminator=settings.line_separator,
        )

        def write(fields: list[str]) -> bytes:
            line.seek(0)
            line.truncate()
            writer.writerow(fields)
            return line.getvalue().encode()

        return write


class _CsvWriter(BulkWriter[Any]):
    """For whoever writes a file by hand."""

    def __init__(self, part_format: CsvFormat, stream: BinaryIO) -> None:
        self._encode = part_format.encoder()
        self._stream = stream
        stream.write(part_format.header())

    def add_element(self, element: Any) -> None:
        self._stream.write(self._encode(element))

    def flush(self) -> None:
        self._stream.flush()

    def finish(self) -> None:
        self._stream.flush()


def _text_of(column: CsvColumn, null: str) -> Callable[[Any], str]:
    def text(value: Any) -> str:
        if value is None:
            return null
        if isinstance(value, bool):
            return "true" if value else "false"
        if column.separator is not None and not isinstance(value, str):
            return column.separator.join(map(text, value))
        return str(value)

    return text
