"""The workloads as Bytewax dataflows.

A run is a cluster of processes with one worker each (threads would share one interpreter lock);
each process makes the records of its producers. With `--recovery` state is saved every ten seconds
and at the end. Bytewax measures event time by key, and its keys are strings.

    python -m bench.engines.bytewax_flow reduce --keys 1000 --start 10000 --recovery
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections import deque
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from pathlib import Path

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.connectors.files import DirSource
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import cluster_main

from bench.engines.program import main
from bench.workloads import expected
from bench.workloads.catalog import WORKLOADS
from bench.workloads.checksum import Checksum, gather, leave
from bench.workloads.records import record_maker, write_text

PRODUCERS = 2
BATCH = 10000
SNAPSHOT_EVERY = timedelta(seconds=10)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Producer(StatefulSourcePartition):
    """Make the records of one producer, in batches."""

    def __init__(self, make, start, end):
        self.make = make
        self.at = start
        self.end = end

    def next_batch(self):
        if self.at >= self.end:
            raise StopIteration
        numbers = range(self.at, min(self.at + BATCH, self.end))
        self.at = numbers.stop
        return [self.make(number) for number in numbers]

    def snapshot(self):
        return self.at


class Producers(FixedPartitionedSource):
    """The producers that this process runs."""

    def __init__(self, make, records, mine):
        self.make = make
        self.half = records // PRODUCERS
        self.mine = mine

    def list_parts(self):
        return [str(part) for part in self.mine]

    def build_part(self, step_id, for_part, resume_state):
        start = int(for_part) * self.half
        return Producer(self.make, resume_state or start, start + self.half)


class Tally(StatelessSinkPartition):
    """Add up results, and leave the sum when the dataflow ends."""

    def __init__(self, folder):
        self.folder = folder
        self.seen = Checksum()

    def write_batch(self, items):
        self.seen.add((int(key), number) for key, number in items)

    def close(self):
        leave(self.folder, self.seen.as_list())


class TallySink(DynamicSink):
    """Makes a tally when the cluster is connected and begins: that moment is kept."""

    def __init__(self, folder):
        self.folder = folder
        self.began = 0.0

    def build(self, step_id, worker_index, worker_count):
        self.began = time.time()
        return Tally(self.folder)


class RollingSum(StatefulBatchLogic):
    """Add up the values of a key and give every sum."""

    def __init__(self, total):
        self.total = total or 0

    def on_batch(self, values):
        sums = []
        for value in values:
            self.total += value
            sums.append(self.total)
        return sums, StatefulBatchLogic.RETAIN

    def snapshot(self):
        return self.total


class Remind(StatefulBatchLogic):
    """Set a timer for each record; Bytewax has none in event time, so this one keeps its own."""

    def __init__(self, pending):
        self.pending = deque(pending or ())

    def on_batch(self, values):
        fired = []
        for moment in values:
            while self.pending and self.pending[0] < moment:
                fired.append(self.pending.popleft())
            self.pending.append(moment + expected.TIMER_MS)
        return fired, StatefulBatchLogic.RETAIN

    def on_eof(self):
        return list(self.pending), StatefulBatchLogic.DISCARD

    def snapshot(self):
        return list(self.pending)


def by_key(records):
    return op.map("key", records, lambda record: (str(record[0]), record))


def clock(wait_s=0):
    """Return a clock that only the records move: they are made faster than real time."""
    now = datetime.now(timezone.utc)
    return win.EventClock(
        ts_getter=lambda record: EPOCH + timedelta(milliseconds=record[2]),
        wait_for_system_duration=timedelta(seconds=wait_s),
        now_getter=lambda: now,
        to_system_utc=lambda _: None,
    )


def summed(records, windower):
    windows = win.fold_window(
        "windows",
        by_key(records),
        clock(),
        windower,
        builder=int,
        folder=lambda total, record: total + record[1],
        merger=lambda a, b: a + b,
        ordered=False,
    )
    return op.map("result", windows.down, lambda item: (item[0], item[1][1]))


def mapped(records):
    return op.map("scale", records, lambda record: expected.scaled(record[0], record[1]))


def reduced(records):
    pairs = op.map("key", records, lambda record: (str(record[0]), record[1]))
    return op.stateful_batch("reduce", pairs, RollingSum)


def counted(records):
    ones = op.map("key", records, lambda record: (str(record[0]), 1))
    return op.stateful_batch("count", ones, RollingSum)


def reminded(records):
    times = op.map("key", records, lambda record: (str(record[0]), record[2]))
    return op.stateful_batch("remind", times, Remind)


def tumbling(records):
    length = timedelta(seconds=expected.TUMBLING_S)
    return summed(records, win.TumblingWindower(align_to=EPOCH, length=length))


def sliding(records):
    length, offset = timedelta(seconds=expected.SLIDING_S), timedelta(seconds=expected.SLIDE_S)
    return summed(records, win.SlidingWindower(align_to=EPOCH, length=length, offset=offset))


def sessions(records):
    return summed(records, win.SessionWindower(gap=timedelta(seconds=expected.SESSION_GAP_S)))


def joined(records):
    sides = op.branch("sides", by_key(records), lambda item: expected.is_left(item[1][2]))
    # One side may be ahead of the other by what a source hands over at once.
    windows = win.join_window(
        "windows",
        clock(wait_s=8 * expected.JOIN_S),
        win.TumblingWindower(align_to=EPOCH, length=timedelta(seconds=expected.JOIN_S)),
        sides.trues,
        sides.falses,
        insert_mode="product",
        emit_mode="final",
        ordered=False,
    )
    return op.filter_map("pair", windows.down, _pair)


def _pair(item):
    key, (_, (left, right)) = item
    if left is None or right is None:
        return None
    return key, expected.paired(left[0], left[1], right[1])[1]


def words_counted(lines):
    words = op.flat_map("words", lines, lambda line: [(word, 1) for word in line.split()])
    counts = op.stateful_batch("count", words, RollingSum)
    return op.map("result", counts, lambda pair: (pair[0][1:], pair[1]))


BUILD = {
    "map": mapped,
    "reduce": reduced,
    "state": counted,
    "timer": reminded,
    "tumbling": tumbling,
    "sliding": sliding,
    "session": sessions,
    "join": joined,
    "words": words_counted,
}


def dataflow(workload, records, keys, folder, mine):
    """Return the dataflow of a process that has the producers `mine`, and its sink."""
    flow = Dataflow(workload.name)
    if workload.text:
        name = "*" if len(mine) == PRODUCERS else f"part-{mine[0]}.txt"
        text = Path(folder, f"text-{records}-{keys}")
        source = DirSource(text, name, batch_size=BATCH, get_fs_id=lambda _: "shared")
    else:
        source = Producers(record_maker(records, keys, workload.pause_ms), records, mine)
    results = BUILD[workload.name](op.input("records", flow, source))
    sink = TallySink(folder)
    op.output("tally", results, sink)
    return flow, sink


def run_process(number, addresses, workload, records, keys, folder):
    """Be one process of the cluster."""
    processes = len(addresses)
    mine = list(range(number, PRODUCERS, processes))
    flow, sink = dataflow(workload, records, keys, folder, mine)
    state = Path(folder, "state")
    recovery = RecoveryConfig(state) if state.exists() else None
    cluster_main(flow, addresses, number, epoch_interval=SNAPSHOT_EVERY, recovery_config=recovery)
    leave(Path(folder, "times"), [sink.began, time.time()])


def free_addresses(count):
    """Return addresses of this machine that nobody listens at."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    finally:
        for each in sockets:
            each.close()


def wait_for(processes):
    """Wait for the processes of a cluster, all of them before one that failed is told of."""
    codes = [process.wait() for process in processes]
    if any(codes):
        raise RuntimeError(f"a process of the Bytewax cluster has failed: exit codes {codes}")


def run_cluster(processes, recovery, workload, records, keys, folder):
    """Return what runs the processes and tells their seconds, from first record to last state.

    Finding each other takes the processes a second or none, as it happens; it is left out.
    """
    if workload.text:
        write_text(folder, records, keys)
    if recovery:
        state = folder / "state"
        state.mkdir()
        init_db_dir(state, processes)
    times = folder / "times"
    times.mkdir()
    addresses = ";".join(free_addresses(processes))
    command = [sys.executable, "-m", __spec__.name, workload.name, "--process"]
    details = [addresses, str(records), str(keys), str(folder)]

    def run():
        started = [subprocess.Popen([*command, str(i), *details]) for i in range(processes)]
        wait_for(started)
        began, ended = zip(*gather(times), strict=True)
        return max(ended) - min(began)

    return run


def start():
    """Be a process of a cluster if the command line says so, else measure."""
    if sys.argv[2:3] == ["--process"]:
        number, addresses, records, keys, folder = sys.argv[3:]
        workload = WORKLOADS[sys.argv[1]]
        run_process(int(number), addresses.split(";"), workload, int(records), int(keys), folder)
        return
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--recovery", action="store_true")
    parser.add_argument("--processes", type=int, default=min(PRODUCERS, os.cpu_count() or 1))
    options, rest = parser.parse_known_args()
    sys.argv[1:] = rest

    def prepare(workload, records, keys, folder):
        return run_cluster(options.processes, options.recovery, workload, records, keys, folder)

    name = "bytewax durable" if options.recovery else "bytewax"
    main(prepare, engine=name, version=version("bytewax"), warm_up=False)


if __name__ == "__main__":
    start()
