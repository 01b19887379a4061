"""The latency workload as a Bytewax dataflow, on as many processes as the other workloads.

python -m bench.engines.bytewax_latency --rate 20000 --warm 40 --measured 20
"""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from pathlib import Path

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import cluster_main

from bench.engines.bytewax_flow import PRODUCERS, SNAPSHOT_EVERY, free_addresses, wait_for
from bench.engines.paced import main
from bench.workloads.checksum import leave
from bench.workloads.pace import NAP_S, Latencies, Pace


class Due(StatelessSourcePartition):
    def __init__(self, pace):
        self.batches = pace.batches()

    def next_batch(self):
        return next(self.batches)

    def next_awake(self):
        return datetime.now(timezone.utc) + timedelta(seconds=NAP_S)


class Paced(DynamicSource):
    def __init__(self, pace):
        self.pace = pace

    def build(self, step_id, worker_index, worker_count):
        return Due(self.pace.share(worker_count))


class Count(StatefulBatchLogic):
    """Count the records of a key, and hand on when they were due."""

    def __init__(self, count):
        self.count = count or 0

    def on_batch(self, values):
        self.count += len(values)
        return values, StatefulBatchLogic.RETAIN

    def snapshot(self):
        return self.count


class Note(StatelessSinkPartition):
    def __init__(self, folder):
        self.folder = folder
        self.seen = Latencies()

    def write_batch(self, items):
        self.seen.add((item[1] for item in items), time.time())

    def close(self):
        leave(self.folder, self.seen.counts)


class NotingSink(DynamicSink):
    def __init__(self, folder):
        self.folder = folder

    def build(self, step_id, worker_index, worker_count):
        return Note(self.folder)


def run_process(number, addresses, pace, folder):
    """Be one process of the cluster."""
    flow = Dataflow("latency")
    records = op.input("paced", flow, Paced(pace))
    keyed = op.map("key", records, lambda record: (str(record[0]), (record[1], record[2])))
    op.output("note", op.stateful_batch("count", keyed, Count), NotingSink(folder))
    cluster_main(flow, addresses, number, epoch_interval=SNAPSHOT_EVERY)


def run(pace, folder):
    addresses = ";".join(free_addresses(PRODUCERS))
    command = [sys.executable, "-m", __spec__.name, "--process"]
    details = [addresses, str(folder), *map(str, (pace.rate, pace.warm_s, pace.measured_s))]
    started = [subprocess.Popen([*command, str(i), *details]) for i in range(PRODUCERS)]
    wait_for(started)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--process"]:
        number, addresses, folder, *pace = sys.argv[2:]
        run_process(int(number), addresses.split(";"), Pace(*map(int, pace)), Path(folder))
    else:
        main(run, engine="bytewax", version=version("bytewax"))
