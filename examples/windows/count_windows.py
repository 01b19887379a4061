"""Windows of a number of elements: they fire by key, whatever the time is."""

from penstock.datastream import (
    AggregateFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)

READINGS = [("sensor_1", level) for level in (1, 5, 3, 8, 2, 9, 4, 7)] + [
    ("sensor_2", level) for level in (6, 1, 4)
]


class Mean(AggregateFunction):
    """Mean of the water level, as sum and number."""

    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return "sensor", accumulator[0] // accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Everything(ProcessWindowFunction):
    """All elements of the window in one line."""

    def process(self, key, context, elements):
        yield key, ",".join(str(level) for _, level in elements)


def add_up(a, b):
    return a[0], a[1] + b[1]


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    by_sensor = env.from_collection(READINGS).key_by(lambda reading: reading[0])

    def show(results, label):
        results.map(lambda result: f"{label} {result[0]} {result[1]}").print()

    show(by_sensor.count_window(3).reduce(add_up), "sum-of-3")
    # every second element of a key, over its last three
    show(by_sensor.count_window(3, 2).reduce(add_up), "sum-of-3-by-2")
    show(by_sensor.count_window(10, 2).sum(1), "sum-of-10-by-2")
    show(by_sensor.count_window(5).reduce(lambda a, b: max(a, b)), "max-of-5")
    show(by_sensor.count_window(3).aggregate(Mean()), "mean-of-3")
    show(by_sensor.count_window(3).process(Everything()), "all-of-3")

    env.execute("count windows")


if __name__ == "__main__":
    main()
