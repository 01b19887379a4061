"""`print` and `blackhole`: rows on the standard output, and nowhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.common import RowKind
from penstock.connectors.print_sink import PrintSink
from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.graph.relational.types import (
    ArrayType,
    LogicalType,
    MapType,
    PointInTimeType,
    RowType,
)
from penstock.table.bridge import java_time
from penstock.table.factories.base import TableContext, TableFactory, TableSink
from penstock.table.result_text import show

_KINDS = tuple(RowKind)


@dataclass(frozen=True)
class RowText:
    """A row as Flink's print connector writes it: `+I[1, a]`."""

    kinds: tuple[LogicalType, ...]
    zone: str

    def __call__(self, row: tuple[Any, ...]) -> str:
        cells = (self._cell(v, k) for v, k in zip(row[:-1], self.kinds, strict=True))
        return f"{_KINDS[row[-1]]}[{', '.join(cells)}]"

    def _cell(self, value: Any, kind: LogicalType) -> str:
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(kind, PointInTimeType):
            return java_time(value)
        if kind.children():
            return self._nested(value, kind)
        if isinstance(value, bytes):
            # Java's bytes have a sign.
            return str([byte - 256 if byte > 127 else byte for byte in value])
        return show(value, kind, self.zone)

    def _nested(self, value: Any, kind: LogicalType) -> str:
        if isinstance(kind, RowType):
            cells = (self._cell(v, k) for v, k in zip(value, kind.children(), strict=True))
            return f"+I[{', '.join(cells)}]"
        if isinstance(kind, ArrayType):
            return f"[{', '.join(self._cell(item, kind.element) for item in value)}]"
        if isinstance(kind, MapType):
            pairs = (f"{self._cell(k, kind.key)}={self._cell(v, kind.value)}"
                     for k, v in value.items())  # fmt: skip
            return f"{{{', '.join(pairs)}}}"
        return show(value, kind, self.zone)


class PrintFactory(TableFactory):
    """Rows as lines on the standard output of the program."""

    identifier = "print"
    options = frozenset({"print-identifier", "standard-error", "sink.parallelism"})

    def sink(self, context: TableContext) -> TableSink:
        """Return the sink of a table."""
        text = RowText(context.schema.children(), context.zone)
        stderr = context.options.get("standard-error", "false").lower() == "true"
        sink = PrintSink(context.options.get("print-identifier"), stderr)
        parallelism = context.options.get("sink.parallelism")
        return TableSink(
            TextRowSink(sink, text), frozenset("IUD"), with_kinds=True,
            parallelism=int(parallelism) if parallelism else None,
        )  # fmt: skip


class TextRowSink(Sink):
    """Give another sink the text of each row."""

    def __init__(self, sink: Sink, text: RowText) -> None:
        self._sink = sink
        self._text = text

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _TextWriter(self._sink.create_writer(context), self._text)

    def create_committer(self, context: CommitterContext) -> Committer:
        return self._sink.create_committer(context)


class _TextWriter(SinkWriter):
    def __init__(self, writer: SinkWriter, text: RowText) -> None:
        self._writer = writer
        self._text = text

    def write(self, value: Any, timestamp: int | None) -> None:
        self._writer.write(self._text(value), timestamp)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        return self._writer.prepare_commit(end_of_input)


class BlackholeFactory(TableFactory):
    """Rows go nowhere: for tests of speed."""

    identifier = "blackhole"

    def sink(self, context: TableContext) -> TableSink:
        """Return the sink of a table."""
        # As in Flink it does not ask for the row before an update.
        return TableSink(BlackholeSink(), frozenset("IUD"), update_before=False)


class BlackholeSink(Sink):
    """Forget every record."""

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _BlackholeWriter()

    def create_committer(self, context: CommitterContext) -> Committer:
        return _NoCommitter()


class _BlackholeWriter(SinkWriter):
    def write(self, value: Any, timestamp: int | None) -> None:
        return None

    def write_all(self, values: Iterable[Any]) -> None:
        # Pull all of them, in C: the operators in front must run.
        deque(values, maxlen=0)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        return []


class _NoCommitter(Committer):
    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        return None
