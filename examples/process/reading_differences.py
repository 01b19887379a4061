"""Report two readings of a sensor in a row that differ by more than a limit, in three ways.

By a rich flat-map function with state, by `flat_map_with_state`, and by a process function.
"""

from penstock.datastream import (
    KeyedProcessFunction,
    RichFlatMapFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import ValueStateDescriptor

TEMPERATURES = [
    ("sensor_1", 35.8),
    ("sensor_2", 15.4),
    ("sensor_1", 37.0),
    ("sensor_1", 39.5),
    ("sensor_2", 13.5),
    ("sensor_1", 38.0),
]
LEVELS = [("sensor_1", 10), ("sensor_1", 45), ("sensor_1", 90), ("sensor_1", 42), ("sensor_1", 80)]


class TemperatureAlert(RichFlatMapFunction):
    def __init__(self, threshold):
        self.threshold = threshold

    def open(self, context):
        self.last = context.get_state(ValueStateDescriptor("last temperature"))

    def flat_map(self, reading):
        sensor, celsius = reading
        last = self.last.value()
        self.last.update(celsius)
        if last is not None and abs(celsius - last) > self.threshold:
            yield sensor, celsius, round(abs(celsius - last), 1)


def alert(reading, last):
    """Return the alerts of a reading, and the new state."""
    sensor, celsius = reading
    if last is None or abs(celsius - last) <= 1.7:
        return [], celsius
    return [(sensor, celsius, round(abs(celsius - last), 1))], celsius


class LevelAlert(KeyedProcessFunction):
    """Warn when two levels in a row differ by more than 40 cm."""

    def open(self, context):
        self.level = context.get_state(ValueStateDescriptor("level"))

    def process_element(self, value, ctx):
        level, before = value[1], self.level.value()
        self.level.update(level)
        if before is not None and abs(level - before) > 40:
            yield f"{ctx.get_current_key()}: from {before} cm to {level} cm"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    temperatures = env.from_collection(TEMPERATURES).key_by(lambda reading: reading[0])
    temperatures.flat_map(TemperatureAlert(1.7)).print("flat_map")
    temperatures.flat_map_with_state(alert).print("flat_map_with_state")
    levels = env.from_collection(LEVELS).key_by(lambda reading: reading[0])
    levels.process(LevelAlert()).print("process")
    env.execute("differences of readings")


if __name__ == "__main__":
    main()
