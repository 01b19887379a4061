"""Write lines to files, exactly once: the classic sink by the hour, the newer one in one folder."""

import tempfile
from pathlib import Path

from penstock.common import TimeUnit
from penstock.common.serialization import SimpleStringEncoder
from penstock.datastream import FsStateBackend, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import (
    BasePathBucketAssigner,
    DateTimeBucketAssigner,
    DefaultRollingPolicy,
    FileSink,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    StreamingFileSink,
)


def main():
    with tempfile.TemporaryDirectory() as folder:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(TimeUnit.SECONDS.to_millis(10))
        env.set_state_backend(FsStateBackend(f"file://{folder}/checkpoints"))

        config = OutputFileConfig.builder().with_part_prefix("prefix").with_part_suffix(".txt")
        by_the_hour = (
            StreamingFileSink.for_row_format(f"{folder}/hours", SimpleStringEncoder("UTF-8"))
            .with_bucket_assigner(DateTimeBucketAssigner())
            .with_rolling_policy(
                DefaultRollingPolicy.builder()
                .with_rollover_interval(TimeUnit.SECONDS.to_millis(2))
                .with_inactivity_interval(TimeUnit.SECONDS.to_millis(1))
                .with_max_part_size(1024 * 1024 * 1024)
                .build()
            )
            .with_output_file_config(config.build())
            .build()
        )
        in_one_folder = (
            FileSink.for_row_format(f"{folder}/all", SimpleStringEncoder())
            .with_bucket_assigner(BasePathBucketAssigner())
            .with_rolling_policy(OnCheckpointRollingPolicy())
            .build()
        )
        lines = env.from_elements("to be", "or not", "to be")
        lines.add_sink(by_the_hour).set_parallelism(1)
        lines.sink_to(in_one_folder).set_parallelism(1)
        env.execute("lines to files")

        show("hours", Path(folder, "hours").glob("*/*"))
        show("all", Path(folder, "all").glob("*"))


def show(label, files):
    for file in sorted(files):
        for line in file.read_text().splitlines():
            print(label, file.name, line)


if __name__ == "__main__":
    main()
