"""The end of the query: bring a batch's sink-bound envelopes to the user's process.

It is a `foreachBatch`. A Python data sink of Spark would do it as well, but takes another Python
worker in every task and two calls into side processes for each batch.

What PySpark's own `foreachBatch` followed by `toArrow` does is planned and described as a
query of its own for each batch. Here the rows of the batch are collected from the plan that
Spark has made already, which saves about a tenth of a small batch.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.spark.internals import (
    BATCH_FUNCTION,
    BatchReader,
    call_for_each_batch,
    serving_connection,
)
from penstock.spark.rows import ARROW_SCHEMA

#: Called with the batch's number and its sink-bound envelopes.
Commit = Callable[[int, list[bytes]], None]


def hand_over_batches(
    session: SparkSession,
    writer: DataStreamWriter,
    commit: Commit,
    on_error: Callable[[BaseException], None],
) -> Callable[[], None]:
    """Let a query that is not started yet end in calls of `commit`.

    Return what must be called when the query has ended.
    """
    function = _BatchFunction(BatchReader(session), commit, on_error)
    call_for_each_batch(session, writer, function)
    return function.hang_up


class _BatchFunction:
    """Called by Spark's JVM, on the thread that runs the query."""

    def __init__(
        self, reader: BatchReader, commit: Commit, on_error: Callable[[BaseException], None]
    ) -> None:
        self._reader = reader
        self._commit = commit
        self._on_error = on_error
        self._connection: Any = None

    def call(self, batch: Any, batch_id: int) -> None:
        """Run the batch and record its output."""
        self._connection = self._connection or serving_connection()
        try:
            self._commit(batch_id, self._payloads(batch))
        except BaseException as error:
            self._on_error(error)
            raise

    def hang_up(self) -> None:
        """End the thread that the JVM's calls came to; the JVM would let it wait for ever."""
        if self._connection is not None:
            # Its thread, which is reading, closes it then.
            with contextlib.suppress(OSError, AttributeError):
                self._connection.socket.shutdown(socket.SHUT_RDWR)

    def _payloads(self, batch: Any) -> list[bytes]:
        payloads: list[bytes] = []
        for message in self._reader.messages(batch):
            rows = pa.ipc.read_record_batch(pa.py_buffer(message), ARROW_SCHEMA)
            payloads.extend(rows.column("payload").to_pylist())
        return payloads

    class Java:
        """What Py4J wants to know."""

        implements = (BATCH_FUNCTION,)
