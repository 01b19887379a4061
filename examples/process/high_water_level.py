"""Send high water levels to a side output, and keep the others in the main one."""

from dataclasses import dataclass

from penstock.common import Watermark
from penstock.datastream import (
    AssignerWithPunctuatedWatermarks,
    KeyedProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)

HIGH = OutputTag("high")


@dataclass
class WaterSensor:
    id: str
    ts: int
    vc: int


LINES = ["sensor_1,1,3", "sensor_1,2,5", "sensor_1,3,4", "sensor_2,4,9"]


class EveryRecord(AssignerWithPunctuatedWatermarks):
    def extract_timestamp(self, element, previous_element_timestamp):
        return element.ts * 1000

    def check_and_get_next_watermark(self, last_element, extracted_timestamp):
        return Watermark(extracted_timestamp)


class HighLevel(KeyedProcessFunction):
    def process_element(self, value, ctx):
        if value.vc >= 5:
            yield HIGH, value
        else:
            yield f"{value.id} is normal: {value.vc} cm at {ctx.timestamp()}"


def parse(line):
    sensor, second, level = line.split(",")
    return WaterSensor(sensor, int(second), int(level))


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    timed = env.from_collection(LINES).map(parse).assign_timestamps_and_watermarks(EveryRecord())
    levels = timed.key_by(lambda sensor: sensor.id).process(HighLevel())
    levels.print("normal")
    levels.get_side_output(HIGH).print("high")
    env.execute("high water level")


if __name__ == "__main__":
    main()
