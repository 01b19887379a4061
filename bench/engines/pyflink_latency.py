"""What the latency program needs of PyFlink, which has neither sources nor sinks in Python.

A map behind Flink's counter waits until each record is due; a filter at the end looks at the clock.
Bundles are handed over every 50 ms instead of every second.
"""

from __future__ import annotations

import time

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import FilterFunction, MapFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

from bench.engines import pyflink_side
from bench.engines.pyflink_side import ENGINE, SUBTASKS, VERSION, set_up
from bench.workloads.checksum import leave
from bench.workloads.pace import Latencies

__all__ = ["ENGINE", "VERSION", "configuration", "note", "paced", "set_up"]

BUNDLE_MS = 50


class WaitUntilDue(MapFunction):
    def __init__(self, pace):
        self.pace = pace

    def open(self, runtime_context):
        self.due = (record for batch in self.pace.batches() for record in batch)

    def map(self, value):
        return next(self.due)


class Note(FilterFunction):
    """Note when results come out, and let none through."""

    def __init__(self, folder):
        self.folder = folder

    def open(self, runtime_context):
        self.seen = Latencies()

    def filter(self, value):
        self.seen.add([value], time.time())
        return False

    def close(self):
        leave(self.folder, self.seen.counts)


def configuration(folder, settings):
    bundles = {"python.fn-execution.bundle.time": str(BUNDLE_MS)}
    return pyflink_side.configuration(folder, {**bundles, **settings})


def paced(env, pace, folder):
    total = pace.rate * (pace.warm_s + pace.measured_s)
    source = NumberSequenceSource(0, total - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    record_type = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
    return numbers.map(WaitUntilDue(pace.share(SUBTASKS)), record_type)


def note(results, folder):
    results.filter(Note(folder)).print()
