"""What the DataStream programs need of PyFlink beyond the API that it shares with Penstock.

PyFlink has no sink in Python: a filter at the end adds results up and leaves them when it closes.
It has no window join either: the two streams are united and paired by a window function, which is
how Flink's own join in Java works.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import FilterFunction, WindowFunction
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.datastream.window import TumblingEventTimeWindows

from bench.workloads import expected
from bench.workloads.checksum import Checksum, leave

ENGINE = "pyflink"
VERSION = version("apache-flink")
CHECKPOINT_MS = 10_000
SUBTASKS = 2


class Tally(FilterFunction):
    """Add up results, let none through, and leave the sum when the job ends."""

    def __init__(self, folder):
        self.folder = folder

    def open(self, runtime_context):
        self.seen = Checksum()

    def filter(self, value):
        self.seen.add_one(value[0], value[1])
        return False

    def close(self):
        leave(self.folder, self.seen.as_list())


class Pair(WindowFunction):
    """Pair the records of the two sides of a join."""

    def apply(self, key, window, inputs):
        left, right = [], []
        for record in inputs:
            (left if expected.is_left(record[2]) else right).append(record[1])
        return [expected.paired(key, a, b) for a in left for b in right]


def configuration(folder, settings):
    """Return the settings of a job: checkpoints of the heap state into a local folder."""
    made = Configuration()
    made.set_string("execution.checkpointing.dir", f"file://{folder}/checkpoints")
    for key, value in settings.items():
        made.set_string(key, value)
    return made


def set_up(env):
    env.enable_checkpointing(CHECKPOINT_MS)
    env.set_python_executable(sys.executable)


def dealt(numbers, make, records, record_type):
    """Make records of numbers, which one subtask counts and deals out to all in turn.

    Were the numbers counted by two subtasks, one that starts late would find its own ones taken by
    the other, too late for event time.
    """
    half = records // SUBTASKS
    turns = numbers.set_parallelism(1).rebalance()
    return turns.map(lambda n: make(n % SUBTASKS * half + n // SUBTASKS), record_type)


def tally(results, folder):
    results.filter(Tally(folder)).print()


def read_lines(env, folder):
    line = StreamFormat.text_line_format()
    source = FileSource.for_record_stream_format(line, f"file://{folder}").build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "lines", Types.STRING())


def window_join(left, right, size):
    result_type = Types.TUPLE([Types.LONG(), Types.LONG()])
    both = left.union(right).key_by(lambda record: record[0], Types.LONG())
    return both.window(TumblingEventTimeWindows.of(size)).apply(Pair(), result_type)
