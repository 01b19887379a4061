"""Write to a folder until there is no more room, or without permission; print what went wrong."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

from penstock.common import Encoder
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import SinkError
from penstock.testing.local_executor import LocalJob

NOBODY = 65534


def main() -> None:
    base, folder, records, how = sys.argv[1:]
    if how == "as nobody":
        os.seteuid(NOBODY)
    elif how.startswith("limit "):
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(how[6:]),) * 2)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    builder = FileSink.for_row_format(base, Encoder.simple_string_encoder())
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    builder.with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=10_000))
    env.from_sequence(0, int(records) - 1).map(lambda n: f"{n:09d}").sink_to(builder.build())
    try:
        LocalJob(build_plan(env), Path(folder), cuts=500).run(("a", "b"))
    except SinkError as error:
        print(error)
        sys.exit(3)


if __name__ == "__main__":
    main()
