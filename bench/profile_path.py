"""Where the time of a record goes: a profile of one workload's runtime, by part and by function.

    python -m bench.profile_path timer
    python -m bench.profile_path state --records 2000000

The job runs in one process, without Spark, with the garbage collector set as in Spark's workers;
py-spy looks at it several hundred times a second. The parts are the user's own functions (those of
the workload among them) and the modules of the runtime.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from bench.environments import ROOT
from bench.workloads.catalog import WORKLOADS

LOOKS_A_SECOND = 500
FUNCTIONS = 20
#: Only these frames' time is a record's: the rest is starting and planning.
WORK = ("run_source", "run_slot")
PARTS = {
    "runtime/exchange": "choosing a slot, taking a record over",
    "runtime/envelope": "packing and unpacking chunks",
    "core/pickling": "packing and unpacking chunks",
    "runtime/codec": "freezing what could change",
    "runtime/state": "state",
    "runtime/timers": "timers",
    "runtime/sorted_runs": "timers",
    "runtime/context": "timers",
    "runtime/watermarks": "timestamps and watermarks",
    "common/watermark": "timestamps and watermarks",
    "runtime/windowing": "windows",
    "runtime/operators/window": "windows",
    "runtime/operators/co_group": "windows",
    "runtime/operators": "calling functions",
    "runtime": "feeding tasks",
    "connectors": "sources",
    "bench": "the workload's own functions",
}

PROGRAM = """
import gc, pathlib, sys, tempfile
from bench.engines.datastream import prepare
from bench.workloads.catalog import WORKLOADS
from penstock.spark.daemon import THRESHOLDS
gc.set_threshold(*THRESHOLDS)
workload = WORKLOADS[sys.argv[1]]
with tempfile.TemporaryDirectory() as folder:
    settings = {"execution.target": "in-process"}
    prepare(workload, int(sys.argv[2]), workload.keys, pathlib.Path(folder), settings=settings)()
"""


def profile(workload: str, records: int) -> Counter[str]:
    """Run a workload under py-spy; return how often each function was seen at work."""
    with tempfile.TemporaryDirectory() as folder:
        stacks = Path(folder) / "stacks.txt"
        spy = Path(sys.executable).with_name("py-spy")
        command = [str(spy), "record", "--rate", str(LOOKS_A_SECOND), "--function"]
        command += ["--format", "raw", "--output", str(stacks), "--"]
        command += [sys.executable, "-c", PROGRAM, workload, str(records)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        return seen_at_work(stacks.read_text())


def seen_at_work(stacks: str) -> Counter[str]:
    """Count the innermost frames of the stacks that are a record's work.

    >>> seen_at_work("main (a.py);run_slot (b.py);f (src/penstock/c.py:1) 3")
    Counter({'f (penstock/c.py)': 3})
    """
    seen: Counter[str] = Counter()
    for line in stacks.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")
        if any(frame.startswith(WORK) for frame in frames):
            seen[re.sub(r"\((?:.*/)?((?:penstock|bench)/[^:)]*).*", r"(\1)", frames[-1])] += int(
                count
            )
    return seen


def part_of(function: str) -> str:
    """Return the part that a function belongs to.

    >>> part_of("TimerQueue.due (penstock/runtime/timers.py)")
    'timers'
    """
    path = function.rpartition("(")[2].removeprefix("penstock/")
    return next((name for start, name in PARTS.items() if path.startswith(start)), "other")


def main() -> None:
    """Profile the workload of the command line and print two tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--records", type=int, default=1_000_000)
    options = parser.parse_args()
    seen = profile(options.workload, options.records)
    total = sum(seen.values())
    parts: Counter[str] = Counter()
    for function, count in seen.items():
        parts[part_of(function)] += count
    for counts, most in ((parts, None), (seen, FUNCTIONS)):
        for name, count in counts.most_common(most):
            print(f"{count / total:6.1%}  {name}")
        print()


if __name__ == "__main__":
    main()
