"""The latency workload in the DataStream API, for Penstock and for PyFlink.

python -m bench.engines.datastream_latency --rate 20000 --warm 40 --measured 20
"""

from __future__ import annotations

from bench.engines.paced import main

try:
    from bench.engines import penstock_latency as side
    from penstock.common import Types
    from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    from penstock.datastream.state import ValueStateDescriptor
except ModuleNotFoundError:
    from pyflink.common import Types
    from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    from pyflink.datastream.state import ValueStateDescriptor

    from bench.engines import pyflink_latency as side


class Count(KeyedProcessFunction):
    """Count the records of a key, and hand on when they were due."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value[1], value[2]


def run(pace, folder, settings=None):
    configuration = side.configuration(folder, settings or {})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    side.set_up(env)
    records = side.paced(env, pace, str(folder))
    result_type = Types.TUPLE([Types.LONG(), Types.LONG()])
    counted = records.key_by(lambda record: record[0], Types.LONG()).process(Count(), result_type)
    side.note(counted, str(folder))
    env.execute("latency")


if __name__ == "__main__":
    main(run, engine=side.ENGINE, version=side.VERSION)
