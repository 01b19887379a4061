"""What should carry the records of a data set: RDDs, or DataFrames?

    python -m bench.bench_dataset_carrier [--records N] [--rounds N]

The same group with sort, and the same join, three times. *Chunks*: Penstock as it is, whose
RDDs hold many records in one pickle. *Pairs*: an RDD program by hand, one pickled pair for each
record in the eyes of Python. *Rows*: DataFrames of (hash, pickled key, pickled value), which the
JVM shuffles and sorts, read by `mapInArrow`. Results are compared; sides take turns.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from bench.bench_dataset import penstock_groups, penstock_join, pyspark_groups, pyspark_join
from penstock.dataset import ExecutionEnvironment

_ROW = "h long, k binary, v binary, side int"
_SCHEMA = pa.schema(
    [("h", pa.int64()), ("k", pa.binary()), ("v", pa.binary()), ("side", pa.int32())]
)


def _rows(
    make: Callable[[int], tuple[Any, Any]], side: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what turns numbers into rows of pickled keys and values."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            pairs = [make(number) for number in batch.column(0).to_pylist()]
            yield pa.record_batch(
                [
                    pa.array([hash(key) for key, _ in pairs], pa.int64()),
                    pa.array([pickle.dumps(key, 5) for key, _ in pairs], pa.binary()),
                    pa.array([pickle.dumps(value, 5) for _, value in pairs], pa.binary()),
                    pa.array([side] * len(pairs), pa.int32()),
                ],
                schema=_SCHEMA,
            )

    return work


def _groups(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, list[tuple[int, Any]]]]:
    """Yield each key with its `(side, value)`; rows come sorted by key."""
    rows = (
        row
        for batch in batches
        for row in zip(*(batch.column(n).to_pylist() for n in (1, 3, 2)), strict=True)
    )
    for key, members in groupby(rows, key=lambda row: row[0]):
        yield pickle.loads(key), [(side, pickle.loads(value)) for _, side, value in members]


def _ends(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    results = []
    for key, members in _groups(batches):
        values = sorted(value for _, value in members)
        results.append((key, values[0], values[-1]))
    yield pa.record_batch([pa.array([pickle.dumps(results)], pa.binary())], names=["r"])


def _pairs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    total = 0
    for _, members in _groups(batches):
        sides: tuple[list[int], list[int]] = ([], [])
        for side, value in members:
            sides[side].append(value)
        total += sum(one * other for one in sides[0] for other in sides[1])
    yield pa.record_batch([pa.array([pickle.dumps(total)], pa.binary())], names=["r"])


def _exchanged(rows: DataFrame) -> DataFrame:
    return rows.repartition(2, "h").sortWithinPartitions("h", "k", "side")


def frame_groups(spark: SparkSession, records: int) -> Any:
    numbers = spark.range(0, records, 1, 2)
    rows = numbers.mapInArrow(_rows(lambda n: (n % 1000, (n * 7919) % 10007), 0), _ROW)
    found = _exchanged(rows).mapInArrow(_ends, "r binary").collect()
    return sorted(result for row in found for result in pickle.loads(row.r))


def frame_join(spark: SparkSession, records: int) -> Any:
    numbers = spark.range(0, records, 1, 2)
    left = numbers.mapInArrow(_rows(lambda n: (n, n % 10), 0), _ROW)
    right = numbers.mapInArrow(_rows(lambda n: (n * 2, n % 7), 1), _ROW)
    found = _exchanged(left.union(right)).mapInArrow(_pairs, "r binary").collect()
    return sum(pickle.loads(row.r) for row in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    env = ExecutionEnvironment.create_local_environment(2)
    env.from_elements(1).count()
    spark = SparkSession.builder.getOrCreate()
    context, records = spark.sparkContext, options.records
    work: dict[str, list[Callable[[], Any]]] = {
        "group with sort": [
            lambda: penstock_groups(env, None, records),  # type: ignore[arg-type]
            lambda: pyspark_groups(context, None, records),  # type: ignore[arg-type]
            lambda: frame_groups(spark, records),
        ],
        "join": [
            lambda: penstock_join(env, None, records),  # type: ignore[arg-type]
            lambda: pyspark_join(context, None, records),  # type: ignore[arg-type]
            lambda: frame_join(spark, records),
        ],
    }
    print("| records a second | chunks | pairs | rows |")
    print("| --- | --- | --- | --- |")
    for name, sides in work.items():
        best = [float("inf")] * 3
        for _ in range(options.rounds):
            results = []
            for side, run in enumerate(sides):
                began = time.perf_counter()
                results.append(run())
                best[side] = min(best[side], time.perf_counter() - began)
            assert results[0] == results[1] == results[2], f"{name}: results differ"
        shown = " | ".join(f"{records / seconds:,.0f}" for seconds in best)
        print(f"| {name} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
