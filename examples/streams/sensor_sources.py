"""Three ways to get readings of sensors: from a list, from a file, from a source of your own."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from penstock.datastream import SourceFunction, StreamExecutionEnvironment


@dataclass(frozen=True)
class SensorReading:
    id: str
    timestamp: int
    temperature: float


READINGS = [
    SensorReading("sensor_1", 1547718199, 35.8),
    SensorReading("sensor_6", 1547718201, 15.4),
    SensorReading("sensor_7", 1547718202, 6.7),
    SensorReading("sensor_10", 1547718205, 38.1),
]


class MySensorSource(SourceFunction):
    """Two rounds of readings that grow warmer."""

    def __init__(self):
        self.running = True

    def run(self, ctx):
        temperatures = {f"sensor_{number}": 60.0 + number for number in (1, 2, 3)}
        for _ in range(2):
            if not self.running:
                break
            for sensor in temperatures:
                temperatures[sensor] += 0.5
                ctx.collect(SensorReading(sensor, 1547718300, temperatures[sensor]))
            time.sleep(0.1)

    def cancel(self):
        self.running = False


def parse(line):
    sensor, timestamp, temperature = (part.strip() for part in line.split(","))
    return SensorReading(sensor, int(timestamp), float(temperature))


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sensor.txt"
        file.write_text("sensor_1, 1547718199, 35.8\nsensor_6, 1547718201, 15.4\n")

        env.from_collection(READINGS).print("list")
        env.read_text_file(str(file)).map(parse).print("file")
        env.add_source(MySensorSource()).map(lambda r: f"{r.id} {r.temperature}").print("own")
        env.execute("sources of readings")


if __name__ == "__main__":
    main()
