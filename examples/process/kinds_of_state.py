"""Every kind of keyed state in one function, and operator state in another.

Values expire after an hour without being written.
"""

from penstock.common import Time
from penstock.datastream import (
    AggregateFunction,
    CheckpointedFunction,
    KeyedProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)

READINGS = [("sensor_1", 3), ("sensor_2", 8), ("sensor_1", 5), ("sensor_1", 3), ("sensor_2", 6)]


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class Statistics(KeyedProcessFunction):
    def open(self, context):
        last = ValueStateDescriptor("last")
        last.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.last = context.get_state(last)
        self.all = context.get_list_state(ListStateDescriptor("all"))
        self.counts = context.get_map_state(MapStateDescriptor("counts"))
        self.highest = context.get_reducing_state(ReducingStateDescriptor("highest", max))
        self.mean = context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean()))

    def process_element(self, value, ctx):
        sensor, level = value
        last = self.last.value()
        self.last.update(level)
        self.all.add(level)
        self.counts.put(level, (self.counts.get(level) or 0) + 1)
        self.highest.add(level)
        self.mean.add(level)
        yield (
            f"{sensor} last {last}, all {list(self.all.get())}, "
            f"counts {dict(self.counts.items())}, "
            f"highest {self.highest.get()}, mean {self.mean.get():.2f}"
        )


class Numbered(MapFunction, CheckpointedFunction):
    """Number the records of this subtask; the number outlives a restart."""

    def initialize_state(self, context):
        store = context.get_operator_state_store()
        self.saved = store.get_list_state(ListStateDescriptor("number"))
        self.number = sum(self.saved.get())

    def map(self, value):
        self.number += 1
        return f"record {self.number}: {value[0]}"

    def snapshot_state(self, context):
        self.saved.update([self.number])


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    readings = env.from_collection(READINGS)
    readings.key_by(lambda reading: reading[0]).process(Statistics()).print("keyed")
    readings.map(Numbered()).print("operator")
    env.execute("kinds of state")


if __name__ == "__main__":
    main()
