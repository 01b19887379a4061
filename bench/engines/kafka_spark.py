"""Kafka -> keyed count -> Kafka as a plain Structured Streaming query, all of it in the JVM.

A key's count goes out once a batch, not once a record, and to Kafka at least once: that is what
Spark has. With `--share 1` the query is the hand-written one that Spark's users need for a count
for every record: `transformWithStateInPandas`.

    python -m bench.engines.kafka_spark --servers S --topic T --out O --records N
"""

from __future__ import annotations

import os
import tempfile

import pandas as pd
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

from bench.engines.kafka_options import parse
from bench.engines.pyspark_query import session


class Count(StatefulProcessor):
    """Give each record of a key the number of those before it."""

    def init(self, handle):
        self.count = handle.getValueState("count", "count long")

    def handleInputRows(self, key, rows, timer_values):
        seen = self.count.get()[0] if self.count.exists() else 0
        for frame in rows:
            numbers = range(seen + 1, seen + len(frame) + 1)
            seen += len(frame)
            yield pd.DataFrame({"value": [f"{key[0]} {number}" for number in numbers]})
        self.count.update((seen,))

    def close(self):
        """Have nothing to let go of."""


def main():
    options = parse(__doc__)
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {','.join(options.jars)} pyspark-shell"
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    # A stream cannot be told where to end: the topic must have just these records.
    texts = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", options.servers)
        .option("subscribe", options.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 400_000)
        .load()
        .select(F.col("value").cast("string").alias("text"))
        .select(F.substring("text", 1, 4).alias("key"))
    )
    if options.share > 1:
        counts = texts.groupBy("key").count()
        lines = counts.select(F.concat_ws(" ", "key", "count").alias("value"))
    else:
        lines = texts.groupBy("key").transformWithStateInPandas(
            Count(), "value string", "Update", "None"
        )
    with tempfile.TemporaryDirectory() as folder:
        query = (
            lines.writeStream.format("kafka")
            .option("kafka.bootstrap.servers", options.servers)
            .option("topic", options.out)
            .option("checkpointLocation", folder)
            .outputMode("update")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        read = sum(progress["numInputRows"] for progress in query.recentProgress)
    spark.stop()
    assert read == options.records, f"{read} records instead of {options.records}"


if __name__ == "__main__":
    main()
