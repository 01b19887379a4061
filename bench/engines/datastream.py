"""The workloads in the DataStream API: one program for Penstock and for PyFlink.

It runs on whichever of the two its environment has. What the APIs do not share, a sink in Python
and a window join, is in `penstock_side.py` and `pyflink_side.py`.

    python -m bench.engines.datastream reduce --keys 1000 --start 10000
"""

from __future__ import annotations

from bench.engines.program import main
from bench.workloads import expected
from bench.workloads.records import record_maker, write_text

try:
    from bench.engines import penstock_side as side
    from penstock.common import Time, Types, WatermarkStrategy
    from penstock.common.watermark_strategy import TimestampAssigner
    from penstock.datastream import (
        AggregateFunction,
        KeyedProcessFunction,
        StreamExecutionEnvironment,
    )
    from penstock.datastream.connectors.number_seq import NumberSequenceSource
    from penstock.datastream.state import ValueStateDescriptor
    from penstock.datastream.window import (
        EventTimeSessionWindows,
        SlidingEventTimeWindows,
        TumblingEventTimeWindows,
    )
except ModuleNotFoundError:
    from pyflink.common import Time, Types, WatermarkStrategy
    from pyflink.common.watermark_strategy import TimestampAssigner
    from pyflink.datastream import (
        AggregateFunction,
        KeyedProcessFunction,
        StreamExecutionEnvironment,
    )
    from pyflink.datastream.connectors.number_seq import NumberSequenceSource
    from pyflink.datastream.state import ValueStateDescriptor
    from pyflink.datastream.window import (
        EventTimeSessionWindows,
        SlidingEventTimeWindows,
        TumblingEventTimeWindows,
    )

    from bench.engines import pyflink_side as side

PARALLELISM = 2


def record_type():
    return Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])


def result_type():
    """Return a type of its own for each use: PyFlink cannot pickle one that was used before."""
    return Types.TUPLE([Types.LONG(), Types.LONG()])


def word_type():
    return Types.TUPLE([Types.STRING(), Types.LONG()])


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


class Count(KeyedProcessFunction):
    """Count the records of a key in a ValueState."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], count


class Remind(KeyedProcessFunction):
    """Set a timer for each record, and tell when it fires."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[2] + expected.TIMER_MS)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp


class Sum(AggregateFunction):
    """Add up values, beside their key."""

    mergeable = True

    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return value[0], accumulator[1] + value[1]

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return max(a[0], b[0]), a[1] + b[1]


def by_key(stream):
    return stream.key_by(lambda record: record[0], Types.LONG())


def summed(windows):
    return windows.aggregate(Sum(), accumulator_type=result_type(), output_type=result_type())


def mapped(records):
    return records.map(lambda record: expected.scaled(record[0], record[1]), result_type())


def reduced(records):
    pairs = records.map(lambda record: (record[0], record[1]), result_type())
    return by_key(pairs).reduce(lambda a, b: (a[0], a[1] + b[1]))


def counted(records):
    return by_key(records).process(Count(), result_type())


def reminded(records):
    return by_key(timed(records)).process(Remind(), result_type())


def tumbling(records):
    size = Time.seconds(expected.TUMBLING_S)
    return summed(by_key(timed(records)).window(TumblingEventTimeWindows.of(size)))


def sliding(records):
    size, slide = Time.seconds(expected.SLIDING_S), Time.seconds(expected.SLIDE_S)
    return summed(by_key(timed(records)).window(SlidingEventTimeWindows.of(size, slide)))


def sessions(records):
    gap = Time.seconds(expected.SESSION_GAP_S)
    return summed(by_key(timed(records)).window(EventTimeSessionWindows.with_gap(gap)))


def joined(records):
    records = timed(records)
    left = records.filter(lambda record: expected.is_left(record[2]))
    right = records.filter(lambda record: not expected.is_left(record[2]))
    return side.window_join(left, right, Time.seconds(expected.JOIN_S))


def timed(records):
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return records.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(EventTime()))


def words_counted(lines):
    words = lines.flat_map(lambda line: [(word, 1) for word in line.split()], word_type())
    counts = words.key_by(lambda pair: pair[0], Types.STRING()).reduce(
        lambda a, b: (a[0], a[1] + b[1])
    )
    return counts.map(lambda pair: (int(pair[0][1:]), pair[1]), result_type())


BUILD = {
    "map": mapped,
    "reduce": reduced,
    "state": counted,
    "timer": reminded,
    "tumbling": tumbling,
    "sliding": sliding,
    "session": sessions,
    "join": joined,
}


def numbers(env, records):
    source = NumberSequenceSource(0, records - 1)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())


def prepare(workload, records, keys, folder, parallelism=PARALLELISM, levels=1, settings=None):
    """Build the job, which leaves its checksum in the folder; return what runs it.

    :param levels: how many keyed counts stand one behind the other, beyond the first as in `state`.
    """
    configuration = side.configuration(folder, settings or {})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    side.set_up(env)
    if workload.text:
        results = words_counted(side.read_lines(env, write_text(folder, records, keys)))
    else:
        make = record_maker(records, keys, workload.pause_ms)
        made = side.dealt(numbers(env, records), make, records, record_type())
        results = BUILD[workload.name](made)
    for _ in range(levels - 1):
        results = counted(results)
    side.tally(results, str(folder))
    return lambda: env.execute(workload.name)


if __name__ == "__main__":
    main(prepare, engine=side.ENGINE, version=side.VERSION)
