"""What every engine's program does around its jobs: run them at two sizes, tell what they gave.

The marginal rate between two sizes leaves the start of a job out. The larger size is found by
trying: it is one that takes some seconds more than the smaller one. The last line printed is JSON:
the engine's version, and of both runs the records, the seconds and the checksum.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.workloads.catalog import WORKLOADS, Workload
from bench.workloads.checksum import gather_checksum

Prepare = Callable[[Workload, int, int, Path], Callable[[], Any]]

#: By how much a size grows at once while the larger one is looked for.
STEPS = (2.0, 10.0)
#: The largest size: plain Python has to compute the result of it as well.
MOST = 20_000_000


def run_once(prepare: Prepare, workload: Workload, records: int, keys: int) -> dict[str, Any]:
    """Run a workload at one size; the job's seconds are those that it tells, or the clock's."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        run = prepare(workload, records, keys, Path(folder))
        began = time.perf_counter()
        told = run()
        seconds = told if isinstance(told, float) else time.perf_counter() - began
        checksum = gather_checksum(folder).as_list()
    return {"records": records, "seconds": seconds, "checksum": checksum}


def run_twice(
    run: Callable[[int], dict[str, Any]],
    start: int,
    seconds: float,
    most: int = MOST,
    clock: str = "seconds",
) -> list[Any]:
    """Run at a size and at a larger one that takes so many seconds more; return both.

    :param most: the largest size there is.
    :param clock: which figure of a run counts as its seconds.

    >>> told = run_twice(lambda n: {"records": n, "seconds": 1 + n / 1000}, 100, 5)
    >>> [each["records"] for each in told]
    [100, 8000]
    >>> told = run_twice(lambda n: {"records": n, "seconds": 1 + n / 10**8}, 100, 5)
    >>> [each["records"] for each in told]
    [100, 20000000]
    """
    small = run(start)
    large = run(4 * start)
    while large["records"] < most and (more := large[clock] - small[clock]) < seconds:
        # A little further than what seems needed, so that once more is enough.
        wanted = 1.2 * seconds / max(more, 0.001)
        grown = large["records"] * min(max(wanted, STEPS[0]), STEPS[1])
        large = run(min(2 * round(grown / 2), most))
    return [small, large]


def rate(runs: list[Any]) -> float:
    """Return the marginal records a second of a small and a large run."""
    small, large = runs
    return (large["records"] - small["records"]) / (large["seconds"] - small["seconds"])


def main(
    prepare: Callable[..., Callable[[], Any]], engine: str, version: str, *, warm_up: bool = True
) -> None:
    """Run the workload that the command line names, with the settings that it names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--keys", type=int, required=True)
    parser.add_argument("--start", type=int, required=True, help="records of the smaller run")
    parser.add_argument("--seconds", type=float, default=5.0, help="that the larger run takes more")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    settings = dict(setting.split("=", 1) for setting in options.set)
    if settings:
        prepare = partial(prepare, settings=settings)
    workload = WORKLOADS[options.workload]

    def run(records: int) -> dict[str, Any]:
        return run_once(prepare, workload, records, options.keys)

    if warm_up:
        run(options.start)
    runs = run_twice(run, options.start, options.seconds)
    print(json.dumps({"engine": engine, "version": version, "runs": runs}), flush=True)
