"""Parts in formats that pyarrow writes. Records are staged as Arrow batches."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import IO, Any, BinaryIO

import pyarrow as pa

from penstock.common.serialization import BulkWriter
from penstock.connectors.file_sink.formats import PartFormat, StagedFactory
from penstock.connectors.file_sink.frames import frame, pieces
from penstock.connectors.file_sink.record_fields import field_reader
from penstock.errors import SinkError

#: Row groups and stripes have at least so many rows, if the part has.
ROW_GROUP = 1 << 17

Convert = Callable[[Any], Any]


class ArrowWriterFactory(StagedFactory):
    """Make writers of files in a format."""

    def __init__(self, part_format: ArrowFormat) -> None:
        self._format = part_format

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        return _ArrowWriter(self._format, stream)

    def part_format(self) -> PartFormat:
        return self._format


class ArrowFormat(PartFormat):
    """Rows as Arrow batches while a part is open."""

    def __init__(self, schema: pa.Schema, compression: str) -> None:
        self.schema = schema
        self.compression = compression

    def encoder(self) -> Callable[[Any], bytes]:
        read = field_reader(self.schema.names)
        converters = [_converter(field.type) for field in self.schema]
        changed = [(i, convert) for i, convert in enumerate(converters) if convert is not None]
        width = len(converters)
        dumps, protocol = pickle.dumps, pickle.HIGHEST_PROTOCOL

        def encode(record: Any) -> bytes:
            if not changed and type(record) is tuple and len(record) == width:
                return dumps(record, protocol)
            values = read(record)
            for position, convert in changed:
                values[position] = convert(values[position])
            # A tuple: the garbage collector soon leaves it alone, a list never.
            return dumps(tuple(values), protocol)

        return encode

    def pack(self, records: list[bytes]) -> bytes:
        table = self.table(records)
        buffer = pa.BufferOutputStream()
        with pa.ipc.new_stream(buffer, self.schema) as writer:
            writer.write_table(table)
        return frame(buffer.getvalue().to_pybytes())

    def table(self, records: list[bytes]) -> pa.Table:
        """Return encoded records as a table.

        :raises SinkError: if a value is not of its column's type.
        """
        columns = zip(*map(pickle.loads, records), strict=True)
        arrays = [_array(f, values) for f, values in zip(self.schema, columns, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    @abstractmethod
    def open_writer(self, stream: IO[bytes]) -> Any:
        """Return what writes a file: it has `write_table` and `close`."""

    def assemble(self, packs: Iterator[IO[bytes]], stream: IO[bytes]) -> None:
        writer = self.open_writer(stream)
        waiting: list[pa.Table] = []
        for piece in pieces(packs):
            waiting.append(pa.ipc.open_stream(piece).read_all())
            if sum(table.num_rows for table in waiting) >= ROW_GROUP:
                writer.write_table(pa.concat_tables(waiting))
                waiting.clear()
        if waiting:
            writer.write_table(pa.concat_tables(waiting))
        writer.close()


class _ArrowWriter(BulkWriter[Any]):
    """For whoever writes a file by hand."""

    def __init__(self, part_format: ArrowFormat, stream: BinaryIO) -> None:
        self._format = part_format
        self._encode = part_format.encoder()
        self._records: list[bytes] = []
        self._writer = part_format.open_writer(stream)

    def add_element(self, element: Any) -> None:
        self._records.append(self._encode(element))
        if len(self._records) >= ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        if self._records:
            self._writer.write_table(self._format.table(self._records))
            self._records.clear()

    def finish(self) -> None:
        self.flush()
        self._writer.close()


def _array(field: pa.Field, values: tuple[Any, ...]) -> pa.Array:
    try:
        return pa.array(values, field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise SinkError(
            "a value does not fit into its column",
            got=f"column {field.name!r} of type {field.type}: {error}",
            todo="map the stream to the declared types, or declare others",
        ) from error


def _converter(kind: pa.DataType) -> Convert | None:
    """Return what turns rows inside a record into what pyarrow takes; None: nothing."""
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        read = field_reader(names)
        inner = [_converter(field.type) or _same for field in kind]
        return _unless_none(
            lambda value: {n: c(v) for n, c, v in zip(names, inner, read(value), strict=True)}
        )
    if pa.types.is_list(kind):
        element = _converter(kind.value_type)
        return None if element is None else _unless_none(lambda values: list(map(element, values)))
    if pa.types.is_map(kind):
        convert = _converter(kind.item_type) or _same
        return _unless_none(lambda value: [(k, convert(v)) for k, v in dict(value).items()])
    return None


def _same(value: Any) -> Any:
    return value


def _unless_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)
