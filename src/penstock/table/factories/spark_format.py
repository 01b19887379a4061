"""`spark`: whatever Spark can read and write, by its own formats."""

from __future__ import annotations

import functools
import io
from typing import Any

import pyarrow as pa

from penstock.connectors.journal import LastBatch, numbering_of
from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.execution.data_frames import find_data_frames
from penstock.graph.relational import types as t
from penstock.table.arrow_types import arrow_schema, arrow_table
from penstock.table.bridge import RecordsToRows
from penstock.table.factories.base import TableContext, TableFactory, TableSink, TableSource
from penstock.table.factories.converted_source import Convert, ConvertedSource

_OWN = frozenset({"connector", "format", "scan.streaming", "property-version"})
#: How many rows a piece of a batch has on its way to the user's process.
_CHUNK = 50_000


class SparkFactory(TableFactory):
    """Formats of Spark. All options but `format` and `scan.streaming` are handed to it."""

    identifier = "spark"

    def check(self, context: TableContext) -> None:
        """Take every option: only Spark knows which there are."""
        context.required("format")

    def source(self, context: TableContext) -> TableSource:
        """Return the source of a table: what Spark reads, once or as a stream."""
        frames = find_data_frames()
        streaming = context.options.get("scan.streaming", "false").lower() == "true"
        frame = frames.load(
            context.required("format"), _options(context), context.settings, streaming=streaming
        )
        aligned, _ = frames.aligned(frame, arrow_schema(context.schema))
        return TableSource(
            ConvertedSource(frames.source(aligned), functools.partial(_rows_reader, context.schema))
        )

    def sink(self, context: TableContext) -> TableSink:
        """Return the sink of a table: rows are appended when their batch is durable."""
        sink = SparkSink(
            context.required("format"), _options(context), context.settings, context.schema
        )
        return TableSink(sink)


def _options(context: TableContext) -> dict[str, str]:
    return {key: value for key, value in context.options.items() if key not in _OWN}


def _rows_reader(schema: t.RowType) -> Convert:
    """Return what makes rows of a table of a DataFrame's rows."""
    convert = RecordsToRows(schema, tuple(range(len(schema.fields))))
    return lambda records: list(convert(records, None))


class SparkSink(Sink):
    """Append rows with a format of Spark's.

    At least once: a batch whose end nobody noted is appended again after a failure. The options
    `txnAppId` and `txnVersion` tell formats that know them (Delta) which batches they have.
    """

    def __init__(
        self, form: str, options: dict[str, str], settings: dict[str, str], schema: t.RowType
    ) -> None:
        self._form = form
        self._options = options
        self._settings = settings
        self._schema = schema

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _ArrowWriter(self._schema)

    def create_committer(self, context: CommitterContext) -> Committer:
        return _SparkCommitter(context, self._form, self._options, self._settings)


class _ArrowWriter(SinkWriter):
    def __init__(self, schema: t.RowType) -> None:
        self._schema = schema
        self._rows: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._rows.append(value)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        rows, self._rows = self._rows, []
        return [self._packed(rows[i : i + _CHUNK]) for i in range(0, len(rows), _CHUNK)]

    def _packed(self, rows: list[Any]) -> bytes:
        table = arrow_table(rows, self._schema)
        stream = io.BytesIO()
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        return stream.getvalue()


class _SparkCommitter(Committer):
    def __init__(
        self, context: CommitterContext, form: str, options: dict[str, str],
        settings: dict[str, str],
    ) -> None:  # fmt: skip
        self._form = form
        self._options = options
        self._settings = settings
        fresh = not context.restored
        self._name = f"{context.uid}-{numbering_of(context.directory, fresh=fresh)}"
        self._last = LastBatch(context.directory, fresh=fresh)

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if self._last.includes(batch_id):
            return
        tables = [pa.ipc.open_stream(each.payload).read_all() for each in committables]
        if tables:
            options = {"txnAppId": self._name, "txnVersion": str(batch_id), **self._options}
            rows = pa.concat_tables(tables)
            find_data_frames().save(rows, self._form, options, self._settings)
        self._last.advance(batch_id)
