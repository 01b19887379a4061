"""The one Spark query of a job: source, levels, and the hand-over of a batch's output."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from penstock.graph.plan import ExecutionPlan
from penstock.spark.batch_output import Commit, hand_over_batches
from penstock.spark.rpc import Address
from penstock.spark.shipment import Shipment
from penstock.spark.slots import add_levels
from penstock.spark.source import FORMAT, PenstockSource, source_options
from penstock.spark.surrogates import surrogates


def start_query(
    session: SparkSession,
    plan: ExecutionPlan,
    *,
    name: str,
    address: Address,
    shipment: Shipment,
    checkpoint: str,
    commit: Commit,
    on_error: Callable[[BaseException], None],
) -> tuple[StreamingQuery, Callable[[], None]]:
    """Start the query of a job; return it, and what must be called when it has ended.

    :param name: unique among the queries that run in this process.
    :param checkpoint: Spark's checkpoint location.
    :param commit: records a batch. Spark logs the batch after it has returned; if Spark is
        stopped before that, it calls again with the output of a repeated run.
    :param on_error: called with what fails in a batch or in `commit`, before Spark learns of it.
    """
    slots = surrogates(plan.slots)
    session.dataSource.register(PenstockSource)
    options = source_options(address, shipment, slots)
    rows = session.readStream.format(FORMAT).options(**options).load()
    rows = add_levels(rows, shipment, plan.levels, slots)

    writer = (
        rows.writeStream.queryName(name)
        .option("checkpointLocation", checkpoint)
        .trigger(processingTime="0 seconds")
    )
    hang_up = hand_over_batches(session, writer, commit, on_error)
    return writer.start(), hang_up
