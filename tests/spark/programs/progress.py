"""A job of several batches in event time, to be watched at a terminal."""

import time

from penstock.common import Configuration, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import NumberSequenceSource


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 1000


def slowly(value):
    time.sleep(0.2)
    return value > 18


configuration = Configuration()
configuration.set_string("penstock.batch.max-records", "5")
env = StreamExecutionEnvironment.get_execution_environment(configuration)
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
env.from_source(NumberSequenceSource(1, 20), strategy, "numbers").filter(slowly).print()
env.execute("watched")
