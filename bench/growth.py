"""How Penstock's cost grows: with records, keys, parallelism and levels of keyed state.

    python -m bench.growth
    python -m bench.growth --quick

A keyed count in a ValueState, as in the workload `state`; every result is checked. The figures are
added to `bench/results.json`, or with `--quick` to the file under `build/bench`.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from typing import Any

from bench.engines import datastream
from bench.engines.program import rate, run_once, run_twice
from bench.environments import FOLDER, HERE, ROOT
from bench.measure import QUICK_S, SECONDS
from bench.report import Report, growth_line
from bench.workloads.catalog import WORKLOADS

WORKLOAD = WORKLOADS["state"]
START = WORKLOAD.starts["penstock"]
USUAL = {"keys": 1000, "parallelism": 2, "levels": 1}
#: What is varied, and how.
VARIED: dict[str, list[int]] = {
    "keys": [1000, 100_000, 1_000_000],
    "parallelism": [1, 2],
    "levels": [1, 2, 3],
}
#: Sizes whose rates tell whether ten times the records take ten times as long.
RECORDS = [(100_000, 1_000_000), (1_000_000, 10_000_000)]


def run(records: int, keys: int, parallelism: int, levels: int) -> dict[str, Any]:
    """Run the job once and check its result."""
    prepare: Any = partial(datastream.prepare, parallelism=parallelism, levels=levels)
    told = run_once(prepare, WORKLOAD, records, keys)
    expected = WORKLOAD.checksum("penstock", records, keys).as_list()
    assert told["checksum"] == expected, f"{told['checksum']} instead of {expected}"
    return told


def main() -> int:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    os.environ["PYTHONPATH"] = str(ROOT)  # for Spark's workers
    report = Report.read((FOLDER if quick else HERE) / "results.json")
    report.growth = []
    run(START, **USUAL)  # the JVM compiles its hot code

    def note(varied: str, value: int, runs: list[Any]) -> None:
        report.growth.append({"varied": varied, "value": value, "runs": runs, "rate": rate(runs)})
        print(growth_line(report.growth[-1]), flush=True)

    for sizes in RECORDS[: 1 if quick else None]:
        note("records", sizes[1], [run(size, **USUAL) for size in sizes])
    for varied, values in VARIED.items():
        for value in values:
            settings = {**USUAL, varied: value}
            tried = partial(run, **settings)
            note(varied, value, run_twice(tried, START, QUICK_S if quick else SECONDS))
    report.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
