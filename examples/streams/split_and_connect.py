"""Rolling aggregates, split and select, connect, union, and a loop."""

from dataclasses import dataclass

from penstock.datastream import StreamExecutionEnvironment


@dataclass(frozen=True)
class SensorReading:
    id: str
    timestamp: int
    temperature: float


READINGS = [
    SensorReading("sensor_1", 1547718199, 35.8),
    SensorReading("sensor_6", 1547718201, 15.4),
    SensorReading("sensor_1", 1547718206, 32.0),
    SensorReading("sensor_6", 1547718208, 14.1),
    SensorReading("sensor_1", 1547718210, 36.2),
]


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    readings = env.from_collection(READINGS)

    def later_and_warmest(old, new):
        return SensorReading(old.id, new.timestamp, max(old.temperature, new.temperature))

    by_sensor = readings.key_by("id")
    by_sensor.min("temperature").map(lambda r: f"min {r.id} {r.temperature}").print()
    by_sensor.reduce(later_and_warmest).map(
        lambda r: f"reduce {r.id} {r.timestamp} {r.temperature}"
    ).print()

    split = readings.split(lambda r: ["high"] if r.temperature > 30 else ["low"])
    high, low = split.select("high"), split.select("low")
    split.select("high", "low").map(lambda r: f"all {r.id} {r.temperature}").print()

    warnings = high.map(lambda r: (r.id, r.temperature))
    warnings.connect(low).map(
        lambda pair: f"warning {pair[0]} {pair[1]}", lambda r: f"healthy {r.id}"
    ).print()

    high.union(low).map(lambda r: f"union {r.id} {r.temperature}").print()

    # Halve each number until it is odd: what is even goes round once more.
    numbers = env.from_elements(12, 7, 40).map(lambda n: (n, n)).iterate(1000)
    halved = numbers.map(lambda p: (p[0], p[1] // 2) if p[1] % 2 == 0 else p)
    numbers.close_with(halved.filter(lambda p: p[1] % 2 == 0))
    halved.filter(lambda p: p[1] % 2 == 1).map(lambda p: f"odd {p[0]} {p[1]}").print()

    env.execute("split and connect")


if __name__ == "__main__":
    main()
