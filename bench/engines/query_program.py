"""What every engine's program for SQL does: check each query once, then run it at two sizes.

All queries run in one process, one after the other. Each gives a line of JSON: its name, the
engine's version, and of both runs the rows read, the seconds, those of processors, and how many
cores others used; or what went wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.engines.program import run_twice
from bench.environments import FOLDER
from bench.quiet import busy_ticks, ticks_of_session
from bench.workloads.answers import check
from bench.workloads.nexmark.queries import NEXMARK, NEXMARK_TABLES, write_input
from bench.workloads.queries import QUERIES, TABLES, Query, Row

ALL_QUERIES = {**QUERIES, **NEXMARK}
ALL_TABLES = {**TABLES, **NEXMARK_TABLES}
#: Records of the run whose result is checked.
CHECKED = 20_000
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")

#: Makes a query ready over so many records, with a folder of its own and the settings. It is to
#: return what runs it: into nowhere, or giving the final rows if they are collected.
Prepare = Callable[[Query, int, Path, bool, dict[str, str]], Callable[[], Counter[Row] | None]]


def created(query: Query, records: int, dialect: int) -> list[str]:
    """Return the statements that create a query's tables, for Flink (0) or Spark (1)."""
    folder = FOLDER
    if query.name in NEXMARK:
        folder = write_input(FOLDER / "input", query, records)
    values = {"rows": records, "last": records - 1, "folder": folder}
    return [ALL_TABLES[table][dialect].format(**values) for table in query.tables]


def processor_seconds() -> float:
    """Return what this session's processes have used so far."""
    ticks = ticks_of_session(os.getsid(0), with_ended=True)
    return sum(ticks.values()) / TICKS_A_SECOND


def measured(prepare: Prepare, query: Query, settings: dict[str, str], records: int) -> dict:
    """Run a query into nowhere."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        run = prepare(query, records, Path(folder), False, settings)
        began, used, all_used = time.perf_counter(), processor_seconds(), busy_ticks()
        run()
        seconds, processors = time.perf_counter() - began, processor_seconds() - used
        others = (busy_ticks() - all_used) / TICKS_A_SECOND - processors
    return {
        "records": records,
        "seconds": seconds,
        "processors": processors,
        "others": round(max(others, 0) / seconds, 2),
    }


def checked(prepare: Prepare, query: Query, settings: dict[str, str], records: int) -> None:
    """Run a query and compare its result with plain Python's."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        found = prepare(query, records, Path(folder), True, settings)()
    assert found is not None
    check(query, records, found)


def main(prepare: Prepare, engine: str, version: str) -> None:
    """Run the queries that the command line names, with the settings that it names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("queries", choices=ALL_QUERIES, nargs="+")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="of processors, that more records take"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    settings = dict(setting.split("=", 1) for setting in options.set)
    for name in options.queries:
        told = {"query": name, "version": version}
        try:
            told["runs"] = _both(prepare, ALL_QUERIES[name], engine, settings, options.seconds)
        except Exception as error:  # the next query may do better
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            told["error"] = f"{type(error).__name__}: {(lines or [''])[-1]}"[:300]
        print(json.dumps(told), flush=True)


def _both(
    prepare: Prepare, query: Query, engine: str, settings: dict[str, str], seconds: float
) -> list[dict[str, Any]]:
    start = query.starts[engine]
    checked(prepare, query, settings, min(CHECKED, start))  # which warms it up as well
    # By processors' time: on a machine that is busy with other things, clocks tell little.
    runs = run_twice(
        lambda records: measured(prepare, query, settings, records),
        start,
        seconds,
        query.most,
        clock="processors",
    )
    return [{**run, "records": query.rows_read(run["records"])} for run in runs]
