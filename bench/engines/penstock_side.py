"""What the DataStream programs need of Penstock beyond the API that it shares with PyFlink."""

from __future__ import annotations

import json
from importlib.metadata import version

from bench.workloads import expected
from bench.workloads.checksum import Checksum, leave
from penstock.common import Configuration
from penstock.core.io import Committer, Sink, SinkWriter
from penstock.datastream.window import TumblingEventTimeWindows

ENGINE = "penstock"
VERSION = version("penstock")


class TallySink(Sink):
    """Add up results in the workers; the user's process adds up what is published."""

    def __init__(self, folder):
        self.folder = folder

    def create_writer(self, context):
        return TallyWriter()

    def create_committer(self, context):
        return TallyCommitter(self.folder)


class TallyWriter(SinkWriter):
    def __init__(self):
        self.seen = Checksum()

    def write(self, value, timestamp):
        self.seen.add_one(value[0], value[1])

    def prepare_commit(self, end_of_input):
        seen, self.seen = self.seen, Checksum()
        return [json.dumps(seen.as_list()).encode()] if seen.count else []


class TallyCommitter(Committer):
    def __init__(self, folder):
        self.folder = folder
        self.last_batch = -1
        self.published = Checksum()

    def commit(self, batch_id, committables):
        if batch_id > self.last_batch:
            self.last_batch = batch_id
            for committable in committables:
                self.published.merge(Checksum(*json.loads(committable.payload)))

    def close(self):
        leave(self.folder, self.published.as_list())


def configuration(folder, settings):
    """Return the settings of a job; state is durable in any case."""
    made = Configuration()
    for key, value in settings.items():
        made.set_string(key, value)
    return made


def set_up(env):
    """Penstock needs no more than its settings."""


def dealt(numbers, make, records, record_type):
    """Make records of numbers; the subtasks of the source advance together."""
    return numbers.map(make, record_type)


def tally(results, folder):
    results.sink_to(TallySink(folder))


def read_lines(env, folder):
    return env.read_text_file(str(folder))


def window_join(left, right, size):
    joined = left.join(right).where(lambda record: record[0]).equal_to(lambda record: record[0])
    windows = joined.window(TumblingEventTimeWindows.of(size))
    return windows.apply(lambda a, b: expected.paired(a[0], a[1], b[1]))
