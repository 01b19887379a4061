"""The SQL queries as one would write them by hand in Penstock's DataStream API.

python -m bench.engines.by_hand sql-projection sql-group
"""

from __future__ import annotations

from datetime import timedelta
from importlib.metadata import version

from bench.engines.query_program import main
from bench.workloads.answers import final
from bench.workloads.queries import EPOCH, WINDOW_MS, key_of, mixed, value_of
from penstock.common import Configuration, Time, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import (
    AggregateFunction,
    KeyedCoProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.table.factories.printing import BlackholeSink

PARALLELISM = 2


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


class WithWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        start = EPOCH + timedelta(milliseconds=context.window().start)
        for count in elements:
            yield key, start, count


class Pair(KeyedCoProcessFunction):
    """Keep the first of two that belong together until the second comes."""

    def open(self, runtime_context):
        self.first = runtime_context.get_state(ValueStateDescriptor("first", Types.LONG()))

    def process_element1(self, value, ctx):
        return self._pair(value)

    process_element2 = process_element1

    def _pair(self, value):
        first = self.first.value()
        if first is None:
            self.first.update(value[1])
        else:
            self.first.clear()
            yield value[0], first + value[1]


def records(env, count):
    source = NumberSequenceSource(0, count - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    return numbers.map(lambda n: (key_of(n), value_of(n), n))


def projection(rows):
    return rows.filter(lambda row: row[1] > 300).map(lambda row: (row[0], row[1] * 3 + 1))


def group(rows):
    counts = rows.map(lambda row: (row[0], 1, row[1])).key_by(lambda row: row[0])
    return counts.reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]))


def tumbling(rows):
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    timed = rows.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(EventTime()))
    windows = timed.key_by(lambda row: row[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))
    )
    return windows.aggregate(Count(), WithWindow())


def join(rows):
    pairs = rows.map(lambda row: (row[2] // 2, row[1], row[2] % 2))
    left = pairs.filter(lambda row: row[2] == 0).key_by(lambda row: row[0])
    right = pairs.filter(lambda row: row[2] == 1).key_by(lambda row: row[0])
    return left.connect(right).process(Pair())


def udf(rows):
    return rows.map(lambda row: (row[0], mixed(row[1], row[2])))


def udaf(rows):
    weighted = rows.map(lambda row: (row[0], row[1] * (row[2] % 7 + 1), row[2] % 7 + 1))
    sums = weighted.key_by(lambda row: row[0]).reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]))
    return sums.map(lambda row: (row[0], row[1] // row[2]))


BUILD = {
    "sql-projection": projection,
    "sql-group": group,
    "sql-tumbling": tumbling,
    "sql-join": join,
    "sql-udf": udf,
    "sql-udaf": udaf,
}
#: Those of which a later result of a key takes the place of an earlier one.
ROLLING = ("sql-group", "sql-udaf")


def prepare(query, count, folder, collect, settings):
    """Build the job of a query; return what runs it."""
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(PARALLELISM)
    results = BUILD[query.name](records(env, count))
    if collect:
        return lambda: _final(query, list(results.execute_and_collect()))
    results.sink_to(BlackholeSink())
    return lambda: _run(env, query)


def _run(env, query):
    env.execute(query.name)


def _final(query, rows):
    if query.name in ROLLING:
        rows = {row[0]: row for row in rows}.values()
    return final((True, tuple(row)) for row in rows)


if __name__ == "__main__":
    main(prepare, "penstock", version("penstock"))
