"""Two subtasks make watermarks: the slower one counts.

Records are dealt to the two in turn. The window of the first record fires only when both have
gone past its end.
"""

from penstock.common import Configuration, Time
from penstock.datastream import (
    BoundedOutOfOrdernessTimestampExtractor,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)

LEVELS = [("sensor_1", seconds) for seconds in (21, 22, 25, 23, 28, 28, 40, 41)]


class ThreeSeconds(BoundedOutOfOrdernessTimestampExtractor):
    def __init__(self):
        super().__init__(Time.seconds(3))

    def extract_timestamp(self, element):
        return element[1] * 1000


class Describe(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        seconds = sorted(second for _, second in elements)
        at = context.current_watermark()
        shown = "the end of the input" if at > 10**15 else at
        yield f"window [{window.start}, {window.end}) of {seconds} fired at {shown}"


def main():
    configuration = Configuration()
    configuration.set_string("penstock.watermark.records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    env.set_parallelism(1)
    records = env.from_collection(LEVELS).rebalance()
    timed = records.map(lambda record: record).set_parallelism(2)
    timed = timed.assign_timestamps_and_watermarks(ThreeSeconds()).set_parallelism(2)
    timed.key_by(0).time_window(Time.seconds(5)).process(Describe()).print()
    env.execute("watermarks of two subtasks")


if __name__ == "__main__":
    main()
