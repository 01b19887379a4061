"""The one Spark query of a job: source, levels, and the hand-over of a batch's output."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from penstock.graph.plan import ExecutionPlan
from penstock.spark.rpc import Address
from penstock.spark.shipment import Shipment
from penstock.spark.slots import add_levels
from penstock.spark.source import FORMAT, PenstockSource, source_options
from penstock.spark.surrogates import surrogates

#: Called with the batch's number and its sink-bound envelopes.
Commit = Callable[[int, list[bytes]], None]


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
) -> StreamingQuery:
    """Start the query of a job.

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

    def hand_over(batch: DataFrame, batch_id: int) -> None:
        # In the user's process: a Python sink of Spark would take a stage of its own and two
        # calls into side processes for each batch.
        try:
            commit(batch_id, batch.toArrow().column("payload").to_pylist())
        except BaseException as error:
            on_error(error)
            raise

    return (
        rows.writeStream.queryName(name)
        .option("checkpointLocation", checkpoint)
        .trigger(processingTime="0 seconds")
        .foreachBatch(hand_over)
        .start()
    )
