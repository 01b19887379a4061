"""The end of the query: bring a batch's sink-bound envelopes to the user's process.

It is a `foreachBatch`. A Python data sink of Spark would do it as well, but takes another Python
worker in every task and two calls into side processes for each batch.

What PySpark's own `foreachBatch` followed by `toArrow` does is planned and described as a
query of its own for each batch. Here the rows of the batch are collected from the plan that
Spark has made already, which saves about a tenth of a small batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.serializers import NoOpSerializer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.util import _load_from_socket

from penstock.spark.rows import ARROW_SCHEMA

#: Called with the batch's number and its sink-bound envelopes.
Commit = Callable[[int, list[bytes]], None]

_SOURCES = "org.apache.spark.sql.execution.streaming.sources"


def hand_over_batches(
    session: SparkSession,
    writer: DataStreamWriter,
    commit: Commit,
    on_error: Callable[[BaseException], None],
) -> None:
    """Let a query that is not started yet end in calls of `commit`."""
    gateway = session.sparkContext._gateway
    assert gateway is not None
    helper = getattr(gateway.jvm, f"{_SOURCES}.PythonForeachBatchHelper")
    helper.callForeachBatch(writer._jwrite, _BatchFunction(gateway.jvm, commit, on_error))
    ensure_callback_server_started(gateway)


class _BatchFunction:
    """Called by Spark's JVM, on the thread that runs the query."""

    def __init__(self, jvm: Any, commit: Commit, on_error: Callable[[BaseException], None]) -> None:
        self._commit = commit
        self._on_error = on_error
        # Looked up once: each step of such a name is a call to the JVM.
        self._scan_of_rdd = jvm.org.apache.spark.sql.execution.RDDScanExec
        self._collect_and_serve = jvm.org.apache.spark.api.python.PythonRDD.collectAndServe

    def call(self, batch: Any, batch_id: int) -> None:
        """Run the batch and record its output."""
        try:
            self._commit(batch_id, self._payloads(batch))
        except BaseException as error:
            self._on_error(error)
            raise

    def _payloads(self, batch: Any) -> list[bytes]:
        plan = batch.logicalPlan()
        scan = self._scan_of_rdd(
            plan.output(),
            plan.rdd(),
            "batch",
            plan.outputPartitioning(),
            plan.outputOrdering(),
            plan.stream(),
        )
        served = self._collect_and_serve(batch.toArrowBatchRdd(scan))
        payloads: list[bytes] = []
        with _load_from_socket(served, NoOpSerializer()) as messages:
            for message in messages:
                rows = pa.ipc.read_record_batch(pa.py_buffer(message), ARROW_SCHEMA)
                payloads.extend(rows.column("payload").to_pylist())
        return payloads

    class Java:
        """What Py4J wants to know."""

        implements = (f"{_SOURCES}.PythonForeachBatchFunction",)
