"""The workloads as plain Structured Streaming queries.

Where SQL can say it, it does; these run in the JVM with no Python a record. `map` is a hand-written
`mapInArrow`, `state` and `timer` are a hand-written `transformWithStateInPandas`. The source is
Spark's own counter, and results are added up by Spark as well, batch by batch. Rolling results
exist once a key and batch only: for `reduce` and `words` the last value of each key is checked.

    python -m bench.engines.pyspark_query reduce --keys 1000 --start 10000
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator

import pandas as pd
import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

from bench.engines.program import main
from bench.workloads import expected
from bench.workloads.checksum import Checksum, leave
from bench.workloads.records import TURNS_IN_A_SESSION, record_maker, write_text

CORES = 2
#: As many as Penstock reads in a batch by default.
BATCH = 400_000
RESULT = "key long, number long"
#: Event time starts here: at 0 stands the watermark of a new query, and what is there is late.
DAY_MS = 86_400_000


def session():
    """Return a session with the settings that Spark's documentation advises for such queries."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    providers = "org.apache.spark.sql.execution.streaming.state"
    return (
        SparkSession.builder.master(f"local[{CORES}]")
        .config("spark.sql.shuffle.partitions", CORES)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            f"{providers}.RocksDBStateStoreProvider",
        )
        .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        .config("spark.sql.streaming.statefulOperator.useStrictDistribution", "true")
        .getOrCreate()
    )


def numbers(spark: SparkSession) -> DataFrame:
    """Return the numbers from 0 on, a fixed count of them in every batch, without end."""
    counter = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", BATCH)
    return counter.option("numPartitions", CORES).load().select(F.col("value").alias("number"))


def records(spark, count, keys, pause_ms):
    """Return the records as columns, and behind the last one a row that closes all windows."""
    own = keys // 2
    number = F.col("number")
    place = F.expr(f"(number div 2) % {own}")
    turn = F.expr(f"(number div 2) div {own}")
    ms = turn * 1000 + F.expr(f"((number div 2) div {own}) div {TURNS_IN_A_SESSION}") * pause_ms
    ms = ms + F.floor(place * 1000 / own)
    is_record = number < count
    rows = numbers(spark).where(is_record | (number % BATCH == 0))
    return rows.select(
        F.when(is_record, place * 2 + number % 2).otherwise(-1).alias("key"),
        (F.expr("(number div 2) % 997") + 1).alias("value"),
        F.timestamp_millis(F.when(is_record, ms + DAY_MS).otherwise(ms + 10**11)).alias("time"),
    )


def timed(rows):
    return rows.withWatermark("time", "0 seconds")


def summed(rows, window):
    return timed(rows).groupBy("key", window.alias("window")).agg(F.sum("value").alias("number"))


def tumbling(rows):
    return summed(rows, F.window("time", f"{expected.TUMBLING_S} seconds"))


def sliding(rows):
    size, slide = f"{expected.SLIDING_S} seconds", f"{expected.SLIDE_S} seconds"
    return summed(rows, F.window("time", size, slide))


def sessions(rows):
    return summed(rows, F.session_window("time", f"{expected.SESSION_GAP_S} seconds"))


def joined(rows):
    is_left = F.floor(F.unix_millis("time") / 1000) % 2 == 0
    window = F.window("time", f"{expected.JOIN_S} seconds").alias("window")
    left = timed(rows).where(is_left).select("key", window, F.col("value").alias("a"))
    right = timed(rows).where(~is_left).select("key", window, F.col("value").alias("b"))
    pairs = left.join(right, ["key", "window"])
    return pairs.select("key", (F.col("a") * 3 + F.col("b")).alias("number"))


def reduced(rows):
    return rows.where("key >= 0").groupBy("key").agg(F.sum("value").alias("number"))


class Count(StatefulProcessor):
    """Count the records of a key."""

    def init(self, handle):
        self.count = handle.getValueState("count", "count long")

    def handleInputRows(self, key, rows, timerValues):
        count = self.count.get()[0] if self.count.exists() else 0
        for chunk in rows:
            first, count = count + 1, count + len(chunk)
            yield pd.DataFrame({"key": key[0], "number": range(first, count + 1)})
        self.count.update((count,))

    def close(self):
        """Nothing is held."""


class Remind(StatefulProcessor):
    """Set a timer for each record, and tell when it fires."""

    def init(self, handle):
        self.handle = handle

    def handleInputRows(self, key, rows, timerValues):
        for chunk in rows:
            for time in chunk["time"]:
                self.handle.registerTimer(time.value // 10**6 + expected.TIMER_MS)
        yield pd.DataFrame({"key": [], "number": []})

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        moment = expiredTimerInfo.getExpiryTimeInMs() - DAY_MS
        yield pd.DataFrame({"key": [key[0]], "number": [moment]})

    def close(self):
        """Nothing is held."""


def counted(rows):
    keyed = rows.where("key >= 0").groupBy("key")
    return keyed.transformWithStateInPandas(Count(), RESULT, "Append", "None")


def reminded(rows):
    keyed = timed(rows).groupBy("key")
    return keyed.transformWithStateInPandas(Remind(), RESULT, "Append", "EventTime")


def mapped(spark, count, keys):
    make = record_maker(count, keys)

    def scaled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            made = map(make, batch.column(0).to_pylist())
            results = [expected.scaled(key, value) for key, value, _ in made]
            keys_, values = zip(*results, strict=True) if results else ((), ())
            columns = [pa.array(keys_, pa.int64()), pa.array(values, pa.int64())]
            yield pa.RecordBatch.from_arrays(columns, ["key", "number"])

    return numbers(spark).where(F.col("number") < count).mapInArrow(scaled, RESULT)


def words_counted(spark, folder, count, keys):
    lines = spark.readStream.text(str(write_text(folder, count, keys)))
    words = lines.select(F.explode(F.split("value", " ")).alias("word"))
    counts = words.groupBy("word").agg(F.count("*").alias("number"))
    return counts.select(F.substring("word", 2, 9).cast("long").alias("key"), "number")


BUILD = {
    "reduce": reduced,
    "state": counted,
    "timer": reminded,
    "tumbling": tumbling,
    "sliding": sliding,
    "session": sessions,
    "join": joined,
}


class Tally:
    """Add up the results of batches; know when the last one has come."""

    def __init__(self, batches, final):
        self.batches = batches
        self.final = final
        self.seen = Checksum()
        self.last: dict[int, int] = {}
        self.done = threading.Event()

    def add(self, batch, batch_id):
        if batch_id >= self.batches:
            return
        batch = batch.where("key >= 0")
        if self.final:
            self.last.update((row[0], row[1]) for row in batch.select("key", "number").collect())
        else:
            weighted = F.sum(((F.col("key") + 1) * F.col("number")).cast("decimal(38,0)"))
            row = batch.agg(F.count("*"), F.sum("number"), weighted).collect()[0]
            self.seen.merge(Checksum(*(int(part or 0) for part in row)))
        if batch_id == self.batches - 1:
            self.done.set()

    def checksum(self):
        return Checksum().add(self.last.items()) if self.final else self.seen


def prepare(workload, count, keys, folder):
    spark = session()
    if workload.text:
        results, batches = words_counted(spark, folder, count, keys), 1
    elif workload.name == "map":
        results, batches = mapped(spark, count, keys), -(-count // BATCH)
    else:
        rows = records(spark, count, keys, workload.pause_ms)
        # Two more: one with the row that moves the watermark, one in which that is seen.
        results, batches = BUILD[workload.name](rows), -(-count // BATCH) + 2
    final = "pyspark" in workload.updates_in_batches
    tally = Tally(batches, final)

    def run():
        writer = results.writeStream.foreachBatch(tally.add)
        writer = writer.outputMode("update" if final else "append")
        query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
        while not tally.done.wait(0.01):
            if query.exception() is not None:
                raise query.exception()
        query.stop()
        leave(folder, tally.checksum().as_list())

    return run


if __name__ == "__main__":
    main(prepare, engine="pyspark", version=pyspark.__version__)
