"""The lowest temperature of each sensor, in tumbling, sliding and session windows."""

from typing import NamedTuple

from penstock.common import Time, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment, TimeCharacteristic
from penstock.datastream.window import EventTimeSessionWindows


class Reading(NamedTuple):
    id: str
    timestamp: int
    temperature: float


START = 1_547_718_195_000  # a whole number of quarters of a minute
READINGS = [
    Reading("sensor_1", START + 4_000, 35.8),
    Reading("sensor_6", START + 6_000, 15.4),
    Reading("sensor_1", START + 12_000, 37.2),
    Reading("sensor_1", START + 17_000, 33.5),
    Reading("sensor_6", START + 20_000, 18.1),
    Reading("sensor_1", START + 25_000, 38.1),
    Reading("sensor_1", START + 900_000, 30.0),
]


def lower(a, b):
    return a[0], min(a[1], b[1])


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    env.set_parallelism(1)
    in_order = WatermarkStrategy.for_monotonous_timestamps()
    readings = env.from_collection(READINGS).assign_timestamps_and_watermarks(
        in_order.with_timestamp_assigner(lambda reading, _: reading.timestamp)
    )
    by_sensor = readings.map(lambda r: (r.id, r.temperature)).key_by(lambda pair: pair[0])

    def show(minima, label):
        minima.map(lambda pair: f"{label} {pair[0]} {pair[1]}").print()

    show(by_sensor.time_window(Time.seconds(15)).reduce(lower), "tumbling")
    show(by_sensor.time_window(Time.seconds(15), Time.seconds(5)).reduce(lower), "sliding")
    session = EventTimeSessionWindows.with_gap(Time.minutes(10))
    show(by_sensor.window(session).reduce(lower), "session")

    env.execute("lowest temperatures")


if __name__ == "__main__":
    main()
