"""How many records a second does a keyed count take, with durable state?

Each workload runs at two sizes in one process; the marginal rate between them leaves the start of
the job out. The counts are added up and compared with what they must be.
"""

from __future__ import annotations

import sys
import time

from penstock.common import WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    MapFunction,
    SinkFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.state import ValueStateDescriptor

SMALL, LARGE = 1_000_000, 5_000_000


class Count(KeyedProcessFunction):
    """Count the records of a key in a ValueState."""

    def open(self, runtime_context) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield count


class Tally(SinkFunction):
    """Add up how many results there are and how large; the job's result tells."""

    def open(self, runtime_context) -> None:
        self.results = runtime_context.get_long_counter("results")
        self.total = runtime_context.get_long_counter("total")

    def invoke(self, value) -> None:
        self.results.add(1)
        self.total.add(value)


class ToKey(MapFunction):
    """Spread the numbers over keys."""

    def __init__(self, keys: int) -> None:
        self.keys = keys

    def map(self, value):
        return value % self.keys


def with_state(numbers, keys: int):
    """Count in a ValueState of a KeyedProcessFunction."""
    return numbers.map(ToKey(keys)).key_by(lambda key: key).process(Count())


def with_reduce(numbers, keys: int):
    """Count by a rolling reduce."""
    pairs = numbers.map(lambda number: (number % keys, 1))
    return (
        pairs.key_by(lambda pair: pair[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .map(lambda pair: pair[1])
    )


def run(workload, keys: int, size: int) -> float:
    """Run a workload and return its seconds; check what it counted."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    source = NumberSequenceSource(0, size - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    workload(numbers, keys).add_sink(Tally())
    began = time.perf_counter()
    result = env.execute(workload.__name__)
    seconds = time.perf_counter() - began
    each, more = divmod(size, keys)
    expected = keys * each * (each + 1) // 2 + more * (each + 1)
    counted = result.get_all_accumulator_results()
    assert counted == {"results": size, "total": expected}, counted
    return seconds


def main() -> int:
    """Print the marginal rates."""
    run(with_state, 1_000, SMALL)  # the JVM compiles its hot code
    for workload, keys in ((with_state, 1_000), (with_state, 200_000), (with_reduce, 1_000)):
        small, large = run(workload, keys, SMALL), run(workload, keys, LARGE)
        rate = (LARGE - SMALL) / (large - small)
        print(
            f"{workload.__name__:12} {keys:>8,} keys: {rate:>10,.0f} records/s "
            f"({SMALL:,} in {small:.1f} s, {LARGE:,} in {large:.1f} s)"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
