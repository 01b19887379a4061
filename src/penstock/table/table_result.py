"""The result of a statement."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from penstock.common import JobClient, Row
from penstock.connectors.collect import Collector
from penstock.execution.executor import JobHandle
from penstock.graph.relational import types as t
from penstock.table.resolved_schema import ResolvedSchema
from penstock.table.result_kind import ResultKind
from penstock.table.result_text import draw
from penstock.table.table_schema import TableSchema


class CloseableIterator:
    """Rows of a running query, one after another. Closing it ends the query."""

    def __init__(self, rows: Iterator[Row], close: Callable[[], None] | None = None) -> None:
        self._rows = rows
        self._close = close

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        return next(self._rows)

    def next(self) -> Row:
        """Return the next row, waiting for it if need be."""
        return next(self._rows)

    def close(self) -> None:
        """Want no more rows, and end the query."""
        if self._close is not None:
            self._close()

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class TableResult:
    """What a statement gave: rows, or only that it worked.

    `collect` and `print` share one pass over the rows of a query.
    """

    def __init__(
        self,
        schema: t.RowType,
        rows: list[Row] | None = None,
        *,
        kind: ResultKind = ResultKind.SUCCESS_WITH_CONTENT,
        handle: JobHandle | None = None,
        collector: Collector | None = None,
        streaming: bool = False,
        zone: str = "UTC",
        raw: bool = False,
        null_text: str = "<NULL>",
    ) -> None:
        self._schema = schema
        self._rows = rows
        self._kind = kind
        self._handle = handle
        self._collector = collector
        self._streaming = streaming
        self._zone = zone
        #: Whether rows are printed as they are, without a frame around them.
        self._raw = raw
        self._null_text = null_text
        if handle is not None and collector is not None:
            collector.on_close(handle.cancel)
            threading.Thread(
                target=_tell_end, args=(collector, handle), name="penstock-table", daemon=True
            ).start()

    def get_job_client(self) -> JobClient | None:
        """Return the client of the job that the statement started, None if it started none."""
        return None if self._handle is None else JobClient(self._handle)

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait until the job has ended, or the time is over.

        :raises JobError: if the job failed.
        """
        if self._handle is None or self._collector is not None:
            return
        if timeout_ms is None:
            self._handle.wait()
            return
        waiter = threading.Thread(target=_quietly, args=(self._handle,), daemon=True)
        waiter.start()
        waiter.join(timeout_ms / 1000)

    def get_table_schema(self) -> TableSchema:
        """Return the columns of the rows."""
        return TableSchema.of(self._schema)

    def get_resolved_schema(self) -> ResolvedSchema:
        """Return the columns of the rows."""
        return ResolvedSchema.physical(self._schema.names(), self._schema.children())

    def get_result_kind(self) -> ResultKind:
        """Tell whether there are rows."""
        return self._kind

    def collect(self) -> CloseableIterator:
        """Return the rows as they come; each has its kind."""
        if self._rows is not None:
            return CloseableIterator(iter(self._rows))
        if self._collector is None:
            return CloseableIterator(iter(()))
        return CloseableIterator(self._collector, self._collector.close)

    def print(self) -> None:
        """Print the rows as a table, row by row while the query runs."""
        if self._kind is ResultKind.SUCCESS:
            print("OK")
            return
        if self._raw:
            for row in self.collect():
                print(",".join(map(str, row)), flush=True)
            return
        lines = draw(
            self.collect(), self._schema, self._zone, changes=self._streaming,
            by_content=self._rows is not None, null_text=self._null_text,
        )  # fmt: skip
        for line in lines:
            print(line, flush=True)


def _tell_end(collector: Collector, handle: JobHandle) -> None:
    try:
        handle.wait()
    except BaseException as error:
        collector.fail(error)
    else:
        collector.finish()


def _quietly(handle: JobHandle) -> None:
    try:
        handle.wait()
    except Exception:
        # Whoever waits without a limit is told.
        return
