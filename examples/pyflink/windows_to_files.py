"""Count readings in windows of event time, and write the counts to files."""

import logging
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from penstock.common import Encoder, Time, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileSink,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.datastream.window import TimeWindow, TumblingEventTimeWindows

READINGS = [("dam", 1), ("dam", 2), ("dam", 4), ("mill", 4), ("dam", 8), ("mill", 9), ("dam", 15)]


class TimeOfReading(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp) -> int:
        return value[1]


class Count(ProcessWindowFunction[tuple, tuple, str, TimeWindow]):
    def process(self, key: str, context, elements: Iterable[tuple]) -> Iterable[tuple]:
        window = context.window()
        return [(key, window.start, window.end, len(list(elements)))]


def count_readings(output_path):
    env = StreamExecutionEnvironment.get_execution_environment()
    # all of the output in one file
    env.set_parallelism(1)

    readings = env.from_collection(
        READINGS, type_info=Types.TUPLE([Types.STRING(), Types.INT()])
    ).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfReading())
    )
    counts = (
        readings.key_by(lambda reading: reading[0], key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
        .process(Count(), Types.TUPLE([Types.STRING(), Types.INT(), Types.INT(), Types.INT()]))
    )
    counts.sink_to(
        FileSink.for_row_format(output_path, Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_output_file_config(
            OutputFileConfig.builder().with_part_prefix("counts").with_part_suffix(".csv").build()
        )
        .with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=1024 * 1024))
        .build()
    )
    env.execute("windows to files")


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stdout, level=logging.WARNING, format="%(message)s")
    folder = tempfile.mkdtemp()
    count_readings(folder)
    for part in Path(folder).glob("counts-*.csv"):
        print(part.read_text(), end="")
    shutil.rmtree(folder)
