"""Count records by key in one kind of state; a program for Penstock and for PyFlink.

Arguments: the API, the workload, how many keys, and how many records each run has. The last line
printed is a JSON list of the seconds that the runs took.
"""

import json
import sys
import time

if sys.argv[1] == "pyflink":
    from pyflink.common import Time, Types, WatermarkStrategy
    from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    from pyflink.datastream.connectors.number_seq import NumberSequenceSource
    from pyflink.datastream.state import (
        ListStateDescriptor,
        MapStateDescriptor,
        StateTtlConfig,
        ValueStateDescriptor,
    )
else:
    from penstock.common import Time, Types, WatermarkStrategy
    from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    from penstock.datastream.connectors.number_seq import NumberSequenceSource
    from penstock.datastream.state import (
        ListStateDescriptor,
        MapStateDescriptor,
        StateTtlConfig,
        ValueStateDescriptor,
    )


class Value(KeyedProcessFunction):
    """Count in a ValueState."""

    def __init__(self, expires):
        self.expires = expires

    def open(self, runtime_context):
        descriptor = ValueStateDescriptor("count", Types.LONG())
        if self.expires:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.count = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count % 1000 == 0:
            yield count


class Map(KeyedProcessFunction):
    """Count in a MapState, by the last digit of the record."""

    def open(self, runtime_context):
        descriptor = MapStateDescriptor("counts", Types.LONG(), Types.LONG())
        self.counts = runtime_context.get_map_state(descriptor)

    def process_element(self, value, ctx):
        digit = value % 7
        count = (self.counts.get(digit) or 0) + 1
        self.counts.put(digit, count)
        if count % 1000 == 0:
            yield count


class List(KeyedProcessFunction):
    """Keep records in a ListState, and read some of the lists."""

    def open(self, runtime_context):
        self.kept = runtime_context.get_list_state(ListStateDescriptor("kept", Types.LONG()))
        self.seen = 0

    def process_element(self, value, ctx):
        self.kept.add(value)
        self.seen += 1
        if self.seen % 1000 == 0:
            yield len(list(self.kept.get()))
            self.kept.clear()


FUNCTIONS = {
    "value": lambda: Value(expires=False),
    "value with ttl": lambda: Value(expires=True),
    "map": Map,
    "list": List,
}


def run(workload, keys, size):
    """Run the job and return its seconds."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    if sys.argv[1] == "pyflink":
        env.set_python_executable(sys.executable)
    source = NumberSequenceSource(0, size - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    keyed = numbers.key_by(lambda number: number % keys, Types.LONG())
    counts = keyed.process(FUNCTIONS[workload](), Types.LONG())
    counts.filter(lambda count: count < 0).print()
    began = time.perf_counter()
    env.execute(workload)
    return time.perf_counter() - began


def main():
    workload, keys, *sizes = sys.argv[2:]
    run(workload, int(keys), int(sizes[0]))  # the JVM compiles its hot code
    print(json.dumps([run(workload, int(keys), int(size)) for size in sizes]))


if __name__ == "__main__":
    main()
