"""The highest water level of each sensor, read from a file, in three kinds of windows."""

import tempfile
from pathlib import Path

from penstock.common import Time
from penstock.datastream import (
    BoundedOutOfOrdernessTimestampExtractor,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

LINES = [f"sensor_1,{1549044122 + i},{i + 1}" for i in range(9)] + ["sensor_1,1549044140,3"]


class InOrder(BoundedOutOfOrdernessTimestampExtractor):
    """Seconds in the second field, in order."""

    def __init__(self):
        super().__init__(Time.seconds(0))

    def extract_timestamp(self, element):
        return element[1] * 1000


def parse(line):
    sensor, seconds, level = line.split(",")
    return sensor, int(seconds), int(level)


def higher(a, b):
    return a[0], a[1], max(a[2], b[2])


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    env.set_parallelism(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sensor-data.log")
        path.write_text("\n".join(LINES) + "\n")
        levels = env.read_text_file(str(path)).map(parse)
        by_sensor = levels.assign_timestamps_and_watermarks(InOrder()).key_by(0)

        five = Time.seconds(5)
        tumbling = by_sensor.window(TumblingEventTimeWindows.of(five)).reduce(higher)
        tumbling.print("tumbling")
        sliding = by_sensor.window(SlidingEventTimeWindows.of(five, Time.seconds(1)))
        sliding.reduce(higher).print("sliding")
        session = by_sensor.window(EventTimeSessionWindows.with_gap(Time.seconds(2)))
        session.reduce(higher).print("session")
        # At the end of a file event time ends too, so that every window fires.
        env.execute("highest water level")


if __name__ == "__main__":
    main()
