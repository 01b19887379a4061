"""Keep the highest temperature of each sensor: every reading gives the maximum so far."""

from penstock.common import Types
from penstock.common.typeinfo import TypeInformation
from penstock.datastream import FilterFunction, MapFunction, StreamExecutionEnvironment

READINGS = [
    "sensor_1,1547718199,35.8",
    "sensor_6,1547718201,15.4",
    "sensor_7,1547718202,6.7",
    "sensor_1,1547718207,37.2",
    "broken line",
    "sensor_1,1547718212,33.5",
    "sensor_6,1547718215,18.1",
    "sensor_1,1547718220,38.1",
]
READING: TypeInformation = Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE()])


class WellFormed(FilterFunction):
    def filter(self, value):
        return len(value.split(",")) == 3


class ParseReading(MapFunction):
    def map(self, value):
        sensor, timestamp, temperature = value.split(",")
        return sensor, int(timestamp), float(temperature)


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    readings = (
        env.from_collection(READINGS, type_info=Types.STRING())
        .filter(WellFormed())
        .map(ParseReading(), output_type=READING)
    )

    by_sensor = readings.key_by(lambda reading: reading[0], key_type=Types.STRING())
    # the field alone is kept at its maximum ...
    by_sensor.max(2).map(lambda r: f"max    {r[0]} {r[1]} {r[2]}", Types.STRING()).print()
    # ... or the whole reading that had it
    by_sensor.max_by(2).map(lambda r: f"max_by {r[0]} {r[1]} {r[2]}", Types.STRING()).print()

    env.execute("sensor maximum")


if __name__ == "__main__":
    main()
