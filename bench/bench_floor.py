"""What the smallest batch costs, and where its milliseconds go.

A keyed sum with a few records a batch, in one slot for each core: the time of a batch is overhead.
Printed: medians of Spark's own figures for successive stretches of batches, since the JVM takes a
few hundred batches to warm up. `wall` is from the end of one batch to the end of the next, `cpu`
what all processes of the job spent on a batch, which other work on the machine changes little.

    python bench/bench_floor.py --batches 400
    python bench/bench_floor.py --levels 2 --set spark.sql.codegen.wholeStage=false
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from penstock.common import Configuration, WatermarkStrategy
from penstock.connectors.number_sequence import NumberSequenceSource
from penstock.datastream import StreamExecutionEnvironment
from penstock.spark import attempt, query

RECORDS_A_BATCH = 10
KEYS = 8
STRETCH = 50


def cpu_ms() -> float:
    """Return what this process and all that it started have spent so far."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        if int(fields[2]) == os.getpgrp() or stat.parent.name == str(os.getpid()):
            # Of the process, and of its children that have ended.
            ticks += sum(map(int, fields[11:15]))
    return 1000 * ticks / os.sysconf("SC_CLK_TCK")


def watch(ends: list[tuple[float, float]], queries: list[Any]) -> None:
    """Note when batches are recorded, and keep the query for its figures."""
    start = query.start_query

    def started(*arguments: Any, **options: Any) -> Any:
        commit = options["commit"]

        def noted(batch_id: int, payloads: list[bytes]) -> None:
            commit(batch_id, payloads)
            spent = cpu_ms() if len(ends) % STRETCH == 0 else 0
            ends.append((time.perf_counter(), spent))

        running, hang_up = start(*arguments, **{**options, "commit": noted})
        queries.append(running)
        return running, hang_up

    attempt.start_query = started


def build(env: StreamExecutionEnvironment, records: int, levels: int, readers: int) -> None:
    source = NumberSequenceSource(0, records - 1)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    stream = stream.set_parallelism(readers)
    # With the same parallelism, or there would be an exchange between the two.
    stream = stream.map(lambda n: (n % KEYS, n)).set_parallelism(readers)
    for _ in range(levels):
        stream = stream.key_by(lambda pair: pair[0]).sum(1)
    stream.filter(lambda pair: False).print()


def report(progress: list[Any], ends: list[tuple[float, float]]) -> None:
    walls = [1000 * (b - a) for (a, _), (b, _) in pairwise(ends)]
    spent = [cpu for _, cpu in ends[::STRETCH]]
    figures = [dict(p["durationMs"]) for p in progress if p["numInputRows"]]
    names = ["triggerExecution", "addBatch", "queryPlanning", "latestOffset", "walCommit"]
    names.append("commitOffsets")
    print(f"{'batches':>12}{'wall':>8}{'cpu':>8}" + "".join(f"{name:>18}" for name in names))
    for start in range(0, len(walls), STRETCH):
        part = figures[start : start + STRETCH]
        wall = statistics.median(walls[start : start + STRETCH])
        cpu = [(b - a) / STRETCH for a, b in pairwise(spent[start // STRETCH :][:2])]
        if cpu and len(part) >= STRETCH // 2:
            medians = (statistics.median(f.get(name, 0) for f in part) for name in names)
            row = "".join(f"{value:>18.0f}" for value in medians)
            print(f"{start:>6}-{start + STRETCH:<5}{wall:>8.0f}{cpu[0]:>8.0f}{row}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=300)
    parser.add_argument("--levels", type=int, default=1)
    parser.add_argument("--parallelism", type=int, default=2, help="slots of a keyed level")
    parser.add_argument("--readers", type=int, default=1, help="parallelism of the source")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()

    configuration = Configuration()
    configuration.set_string("penstock.batch.max-records", str(RECORDS_A_BATCH))
    kept = str(options.batches + 10)
    configuration.set_string("spark.sql.streaming.numRecentProgressUpdates", kept)
    for setting in options.set:
        configuration.set_string(*setting.split("=", 1))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(options.parallelism)

    ends: list[tuple[float, float]] = []
    queries: list[Any] = []
    watch(ends, queries)
    build(env, options.batches * RECORDS_A_BATCH, options.levels, options.readers)
    env.execute("floor")
    report(queries[0].recentProgress, ends)


if __name__ == "__main__":
    main()
