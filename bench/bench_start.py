"""How long a program takes to its first result, beside a bare PySpark session.

A word count of four lines, and a SparkSession with one `reduceByKey`, in turns, each in a process
of its own. Printed for each run: seconds to the first line of output, and the CPU seconds that all
its processes had spent by then, which other work on the machine changes little. Then medians,
their ratio, and where Penstock's time goes. `--jobs N` also runs the word count N times in one
process: what later jobs cost.

    python -m bench.bench_start --rounds 5
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BARE = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
words = spark.sparkContext.parallelize("to be or not to be".split())
print(words.map(lambda w: (w, 1)).reduceByKey(lambda a, b: a + b).collect(), flush=True)
"""
PENSTOCK = """
from penstock.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
words = env.from_collection("to be or not to be".split())
words.map(lambda w: (w, 1)).key_by(lambda pair: pair[0]).sum(1).print()
env.execute()
"""
#: The same, noting when each step has ended.
NOTED = """
import json, sys, time
began = time.time()
marks = []
def note(step): marks.append((step, time.time() - began))
import penstock.datastream
note("import the API")
import penstock.spark.executor as executor
from penstock.spark import attempt, session
from penstock.runtime.coordinator.coordinator import Coordinator
note("import the engine")
def noted(owner, name, step):
    inner = getattr(owner, name)
    def outer(*arguments, **options):
        try:
            return inner(*arguments, **options)
        finally:
            if step not in dict(marks):
                note(step)
    setattr(owner, name, outer)
noted(session, "start_jvm", "start the JVM")
noted(executor, "open_session", "start Spark")
noted(attempt, "start_query", "start the query")
noted(Coordinator, "latest_offset", "ask for the first offset")
noted(Coordinator, "plan_batch", "plan the first batch")
noted(Coordinator, "commit", "run the first batch")
exec(compile(sys.argv[2], "word count", "exec"))
note("end the job")
json.dump(marks, open(sys.argv[1], "w"))
"""
LATER = """
import time
for number in range({jobs}):
    began = time.time()
    exec({program!r})
    print("job", number + 1, "took", round(time.time() - began, 2), "s", flush=True)
"""


def cpu_of_session(session: int) -> float:
    """Return the CPU seconds of all processes of a session up to now."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def first_result(program: str) -> tuple[float, float]:
    """Run a program; return wall and CPU seconds until it has printed a line."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    if not process.stdout.readline():
        raise SystemExit("the program has printed nothing")
    taken = time.perf_counter() - began, cpu_of_session(process.pid)
    process.communicate()
    return taken


def parts() -> list[tuple[str, float]]:
    """Return when each step of a word count had ended, in seconds from its beginning."""
    with tempfile.TemporaryDirectory() as folder:
        marks = Path(folder) / "marks"
        subprocess.run(
            [sys.executable, "-c", NOTED, str(marks), PENSTOCK],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return [(step, at) for step, at in json.loads(marks.read_text())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=0)
    options = parser.parse_args()
    programs = {"bare pyspark": BARE, "penstock": PENSTOCK}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    print("seconds to the first result: wall, CPU")
    for _ in range(options.rounds):
        for name, program in programs.items():
            taken[name].append(first_result(program))
            print(f"  {name:<14}" + "".join(f"{value:8.2f}" for value in taken[name][-1]))
    medians = {n: [statistics.median(c) for c in zip(*t, strict=True)] for n, t in taken.items()}
    for name, values in medians.items():
        print(f"median {name:<12}" + "".join(f"{value:8.2f}" for value in values))
    pairs = zip(medians["penstock"], medians["bare pyspark"], strict=True)
    print(f"{'ratio':<19}" + "".join(f"{own / bare:8.2f}" for own, bare in pairs))
    print("\nwhere the wall time of one run goes")
    before = 0.0
    for step, at in parts():
        print(f"  {step:<26}{at - before:8.2f}")
        before = at
    if options.jobs:
        print("\njobs in one process")
        program = LATER.format(jobs=options.jobs, program=PENSTOCK)
        subprocess.run([sys.executable, "-c", program], check=True)


if __name__ == "__main__":
    main()
