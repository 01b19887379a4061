"""Out-of-order records: wait three seconds, accept two more, keep the rest aside.

The window [20 s, 25 s) fires when the watermark has reached its end, that is with the record of
28 s; records that still come for it fire it again until the one of 30 s; then they go to the side
output.
"""

from typing import NamedTuple

from penstock.common import Configuration, Time
from penstock.datastream import (
    BoundedOutOfOrdernessTimestampExtractor,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)

LATE = OutputTag("lateData")


class WaterSensor(NamedTuple):
    id: str
    ts: int
    vc: int


class ThreeSeconds(BoundedOutOfOrdernessTimestampExtractor):
    def __init__(self):
        super().__init__(Time.seconds(3))

    def extract_timestamp(self, element):
        return element.ts * 1000


class Describe(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        at = context.current_watermark()
        shown = "the end" if at > 10**15 else at
        number = len(list(elements))
        yield f"window [{window.start}, {window.end}) fired at {shown} with {number} elements"


def main():
    configuration = Configuration()
    configuration.set_string("penstock.watermark.records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    env.set_parallelism(1)
    seconds = (21, 22, 25, 28, 21, 23, 30, 24, 20)
    sensors = env.from_collection([WaterSensor("sensor_1", second, 1) for second in seconds])
    timed = sensors.assign_timestamps_and_watermarks(ThreeSeconds())
    result = (
        timed.key_by(lambda sensor: sensor.id)
        .time_window(Time.seconds(5))
        .allowed_lateness(Time.seconds(2))
        .side_output_late_data(LATE)
        .process(Describe())
    )
    result.print("et")
    result.get_side_output(LATE).print("late")
    env.execute("bounded disorder")


if __name__ == "__main__":
    main()
