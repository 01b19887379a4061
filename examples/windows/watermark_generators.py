"""Make watermarks yourself: from time to time, or behind certain records."""

from typing import NamedTuple

from penstock.common import Configuration, Time, Watermark, WatermarkGenerator, WatermarkStrategy
from penstock.datastream import (
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)


class WaterSensor(NamedTuple):
    id: str
    ts: int
    vc: int


LEVELS = [WaterSensor("sensor_1", 20_000 + ms, 1) for ms in (0, 1999, 4998, 4999, 8001, 9000, 3000)]


class Periodic(AssignerWithPeriodicWatermarks):
    """The classic way: asked from time to time, three seconds behind."""

    def __init__(self):
        self.current = 0

    def extract_timestamp(self, element, previous_element_timestamp):
        self.current = max(self.current, element.ts)
        return element.ts

    def get_current_watermark(self):
        return Watermark(self.current - 3000)


class EveryRecord(AssignerWithPunctuatedWatermarks):
    """Asked behind every record: the watermark is its timestamp."""

    def extract_timestamp(self, element, previous_element_timestamp):
        return element.ts

    def check_and_get_next_watermark(self, last_element, extracted_timestamp):
        return Watermark(extracted_timestamp)


class EvenTimestamps(EveryRecord):
    """A watermark behind records with an even timestamp only."""

    def check_and_get_next_watermark(self, last_element, extracted_timestamp):
        return Watermark(extracted_timestamp) if extracted_timestamp % 2 == 0 else None


class SecondBehind(WatermarkGenerator):
    """The way of today: a generator, and a timestamp assigner beside it."""

    def __init__(self):
        self.largest = 1000

    def on_event(self, event, event_timestamp, output):
        self.largest = max(self.largest, event_timestamp)

    def on_periodic_emit(self, output):
        output.emit_watermark(Watermark(self.largest - 1000))


class Describe(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        at = context.current_watermark()
        shown = "the end" if at > 10**15 else at
        number = len(list(elements))
        yield f"[{window.start},{window.end}) fired at {shown} with {number} elements"


def main():
    configuration = Configuration()
    configuration.set_string("penstock.watermark.records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    env.set_parallelism(1)
    ways = {
        "periodic": Periodic(),
        "punctuated": EveryRecord(),
        "even": EvenTimestamps(),
        "generator": WatermarkStrategy.for_generator(SecondBehind).with_timestamp_assigner(
            lambda sensor, _: sensor.ts
        ),
    }
    for name, way in ways.items():
        timed = env.from_collection(LEVELS).assign_timestamps_and_watermarks(way)
        by_sensor = timed.key_by(lambda sensor: sensor.id)
        by_sensor.time_window(Time.seconds(5)).process(Describe()).print(name)
    env.execute("watermark generators")


if __name__ == "__main__":
    main()
