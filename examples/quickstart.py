"""Warn when a sensor has grown hotter three times in a row."""

from dataclasses import dataclass

from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor


@dataclass
class Reading:
    sensor: str
    celsius: float


class RisingThreeTimes(KeyedProcessFunction):
    def open(self, context):
        self.last = context.get_state(ValueStateDescriptor("last"))
        self.rises = context.get_state(ValueStateDescriptor("rises"))

    def process_element(self, reading, ctx):
        last = self.last.value()
        rises = (self.rises.value() or 0) + 1 if last and reading.celsius > last.celsius else 0
        self.last.update(reading)
        self.rises.update(rises)
        if rises >= 3:
            yield f"{reading.sensor} is rising: {reading.celsius} degrees"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)

celsius = {"boiler": [61, 64, 68, 71, 70, 75, 79, 85], "hall": [21, 22, 21, 22, 23, 24]}
readings = env.from_collection([Reading(s, c) for s, values in celsius.items() for c in values])

readings.key_by(lambda reading: reading.sensor).process(RisingThreeTimes()).print("alarm")
env.execute("rising temperatures")
