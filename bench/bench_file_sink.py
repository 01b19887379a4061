"""How fast the writer of a file sink is by itself: records into parts, files included.

    python bench/bench_file_sink.py [records]

One process, no Spark: what a subtask spends on the sink. Batches of 100,000 records.
"""

from __future__ import annotations

import sys
import tempfile
import time
from typing import Any

from penstock.common import Encoder, Types
from penstock.connectors.file_sink import (
    BucketAssigner,
    EventTimeBucketAssigner,
    FileSink,
    FileSinkBuilder,
)
from penstock.connectors.file_sink.compress import CompressWriters
from penstock.connectors.file_sink.parquet import ParquetBulkWriters
from penstock.core.io import WriterContext

BATCH = 100_000
START = 1_700_000_000_000


class ByFirstLetter(BucketAssigner[Any]):
    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        return element[0]


def rate(builder: FileSinkBuilder[Any], records: list[Any]) -> float:
    writer = builder.build().create_writer(WriterContext(0, 1, lambda: START))
    began = time.perf_counter()
    for first in range(0, len(records), BATCH):
        for number, record in enumerate(records[first : first + BATCH], START):
            writer.write(record, number)
        writer.prepare_commit(first + BATCH >= len(records))
        writer.snapshot_state()
    return len(records) / (time.perf_counter() - began)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    lines = [f"line number {number} of the text" for number in range(count)]
    rows = [(f"sensor {number % 1000}", number, number / 7) for number in range(count)]
    row_type = Types.ROW_NAMED(
        ["id", "at", "value"], [Types.STRING(), Types.LONG(), Types.DOUBLE()]
    )
    encoder = Encoder.simple_string_encoder()
    gzip = CompressWriters.for_extractor().with_hadoop_compression("gzip")
    parquet = ParquetBulkWriters.for_row_type(row_type)
    with tempfile.TemporaryDirectory() as folder:
        cases = {
            "lines, a bucket an hour": (FileSink.for_row_format(f"{folder}/1", encoder), lines),
            "lines, by event hour": (
                FileSink.for_row_format(f"{folder}/2", encoder).with_bucket_assigner(
                    EventTimeBucketAssigner()
                ),
                lines,
            ),
            "lines, own assigner": (
                FileSink.for_row_format(f"{folder}/3", encoder).with_bucket_assigner(
                    ByFirstLetter()
                ),
                lines,
            ),
            "lines, gzip": (FileSink.for_bulk_format(f"{folder}/4", gzip), lines),
            "rows, Parquet": (FileSink.for_bulk_format(f"{folder}/5", parquet), rows),
        }
        for name, (builder, records) in cases.items():
            print(f"{name:30} {rate(builder, records):12,.0f} records/s")


if __name__ == "__main__":
    main()
