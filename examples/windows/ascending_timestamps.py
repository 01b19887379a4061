"""Timestamps in order: the watermark follows them, a millisecond behind.

A window [20 s, 25 s) fires when the record of 25 s comes. When a file has been read, the watermark
goes to its largest value, so the last windows fire too.
"""

import tempfile
from pathlib import Path
from typing import NamedTuple

from penstock.common import Configuration, Time
from penstock.datastream import (
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)


class WaterSensor(NamedTuple):
    id: str
    ts: int
    vc: int


class Describe(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        number = len(list(elements))
        yield (
            f"window [{window.start}, {window.end}) fired at "
            f"{context.current_watermark()} with {number} elements"
        )


def parse(line):
    id, ts, vc = line.split(",")
    return WaterSensor(id, int(ts), int(vc))


def main():
    configuration = Configuration()
    configuration.set_string("penstock.watermark.records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sensor-data.log")
        path.write_text("".join(f"sensor_1,{1549044122 + i},{i + 1}\n" for i in range(9)))
        sensors = env.read_text_file(str(path)).map(parse)
        timed = sensors.assign_ascending_timestamps(lambda sensor: sensor.ts * 1000)
        by_sensor = timed.key_by(lambda sensor: sensor.id)
        by_sensor.time_window(Time.seconds(5)).process(Describe()).print()
        env.execute("ascending timestamps")


if __name__ == "__main__":
    main()
