"""A job as fast as it can go, for ever: numbers, by key, counted."""

from penstock.common import WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource

KEYS = 10_000


def count(value, state):
    total = (state or 0) + 1
    return total, total


env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_source(
    DataGeneratorSource(lambda index: index), WatermarkStrategy.no_watermarks(), "numbers"
)
counts = numbers.map(lambda number: (number % KEYS, 1)).key_by(lambda pair: pair[0])
counts.map_with_state(count).filter(lambda total: total < 0).print()
env.execute("as fast as it can go")
