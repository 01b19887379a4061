"""Numbers into the parts of two file sinks: one beside the source, one behind an exchange."""

from __future__ import annotations

import argparse
from pathlib import Path

from penstock.common import Configuration, Encoder
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileSink,
    RollingPolicy,
    StreamingFileSink,
)

BATCH = 20
#: Longer than what a batch adds: most parts are written by several batches, in several workers.
PART_SIZE = 250


def line(number: int) -> str:
    """Return a line that cannot be taken for another one if a piece of it is missing."""
    return f"{number}={number * number}."


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--master", default="local[2,8]")
    options = parser.parse_args()

    configuration = Configuration()
    configuration.set_string("penstock.master", options.master)
    configuration.set_string("execution.checkpointing.dir", str(options.folder / "checkpoints"))
    configuration.set_string("penstock.batch.max-records", str(BATCH))
    configuration.set_string("execution.runtime-mode", "STREAMING")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    lines = env.from_collection(list(range(options.records))).map(line)
    policy = RollingPolicy.default_rolling_policy(part_size=PART_SIZE)
    encoder = Encoder.simple_string_encoder()
    flat = BucketAssigner.base_path_bucket_assigner()
    beside = StreamingFileSink.for_row_format(str(options.folder / "out" / "beside"), encoder)
    beside.with_bucket_assigner(flat).with_rolling_policy(policy)
    lines.add_sink(beside.build())
    behind = FileSink.for_row_format(str(options.folder / "out" / "behind"), encoder)
    behind.with_bucket_assigner(flat).with_rolling_policy(policy)
    lines.key_by(lambda text: text).map(lambda text: text).sink_to(behind.build())
    env.execute("parts")


if __name__ == "__main__":
    main()
