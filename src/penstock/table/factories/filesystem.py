"""`filesystem`: files of rows, read and written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

from penstock.common import Duration
from penstock.common.option_values import parse_duration
from penstock.common.serialization import Encoder
from penstock.connectors.file_sink import FileSink
from penstock.connectors.file_source.source import FileSource
from penstock.connectors.file_source.stream_format import StreamFormat
from penstock.core.io import (
    CheckContext,
    EnumeratorContext,
    Source,
    SourceBatch,
    SplitEnumerator,
    SplitRange,
)
from penstock.table.factories.base import TableContext, TableFactory, TableSink, TableSource
from penstock.table.factories.formats import RowFormat, find_format


class FilesystemFactory(TableFactory):
    """Files in a folder."""

    identifier = "filesystem"
    options = frozenset({"path", "format", "source.monitor-interval", "source.path.regex-pattern",
                         "sink.", "csv.", "json.", "partition.", "auto-compaction"})  # fmt: skip

    def source(self, context: TableContext) -> TableSource:
        """Return the source of a table."""
        row_format = find_format(context)
        path = _local(context.required("path"))
        builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), path)
        interval = context.options.get("source.monitor-interval")
        if interval:
            length: Any = parse_duration(interval)
            builder.monitor_continuously(
                length if isinstance(length, Duration) else Duration.of_millis(int(length))
            )
        return TableSource(DecodedSource(builder.build(), row_format))

    def sink(self, context: TableContext) -> TableSink:
        """Return the sink of a table."""
        row_format = find_format(context)
        path = _local(context.required("path"))
        return TableSink(FileSink.for_row_format(path, RowEncoder(row_format)).build())


def _local(path: str) -> str:
    return path.removeprefix("file://") if path.startswith("file://") else os.fspath(path)


class DecodedSource(Source):
    """Lines of another source as rows."""

    def __init__(self, source: Source, row_format: RowFormat) -> None:
        self._source = source
        self._format = row_format
        self.bounded = source.bounded
        self.fixed_splits = source.fixed_splits
        self.parallel = source.parallel

    def check(self, context: CheckContext) -> None:
        self._source.check(context)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return self._source.create_enumerator(context)

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        decode: Callable[[str], list[Any]] = self._format.decode
        for batch in self._source.read(split_range):
            yield SourceBatch([row for line in batch.values for row in decode(line)])


class RowEncoder(Encoder[Any]):
    """Rows as lines of a file."""

    def __init__(self, row_format: RowFormat) -> None:
        self._format = row_format

    def encode(self, element: Sequence[Any], stream: BinaryIO) -> None:
        stream.write(f"{self._format.encode(element)}\n".encode())
