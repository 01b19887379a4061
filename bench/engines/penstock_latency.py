"""What the latency program needs of Penstock: a source function, a sink that looks at the clock.

The source function runs in the user's process, as the sink's committer does: a record is out when
its batch is published.
"""

from __future__ import annotations

import pickle
import time

from bench.engines.penstock_side import ENGINE, VERSION, configuration, set_up
from bench.workloads.checksum import leave
from bench.workloads.pace import Latencies
from penstock.core.io import Committer, Sink, SinkWriter
from penstock.datastream import SourceFunction

__all__ = ["ENGINE", "VERSION", "configuration", "note", "paced", "set_up"]


class Paced(SourceFunction):
    def __init__(self, pace):
        self.pace = pace
        self.running = True

    def run(self, ctx):
        for batch in self.pace.batches():
            for record in batch:
                ctx.collect(record)
            if not self.running:
                return

    def cancel(self):
        self.running = False


class NotingSink(Sink):
    """Note in the user's process when results are published."""

    def __init__(self, folder):
        self.folder = folder

    def create_writer(self, context):
        return NotingWriter()

    def create_committer(self, context):
        return NotingCommitter(self.folder)


class NotingWriter(SinkWriter):
    def __init__(self):
        self.results = []

    def write(self, value, timestamp):
        self.results.append(value)

    def prepare_commit(self, end_of_input):
        results, self.results = self.results, []
        return [pickle.dumps(results)] if results else []


class NotingCommitter(Committer):
    def __init__(self, folder):
        self.folder = folder
        self.last_batch = -1
        self.seen = Latencies()

    def commit(self, batch_id, committables):
        if batch_id <= self.last_batch:
            return
        self.last_batch = batch_id
        now = time.time()
        for committable in committables:
            self.seen.add(pickle.loads(committable.payload), now)

    def close(self):
        leave(self.folder, self.seen.counts)


def paced(env, pace, folder):
    return env.add_source(Paced(pace), "paced")


def note(results, folder):
    results.sink_to(NotingSink(folder))
