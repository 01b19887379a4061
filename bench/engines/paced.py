"""What the latency program of every engine does around its job."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.workloads.checksum import gather
from bench.workloads.pace import Latencies, Pace


def latency_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how fast and how long."""
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--warm", type=int, default=40, help="seconds")
    parser.add_argument("--measured", type=int, default=20, help="seconds")


def run_paced(run: Callable[[Pace, Path], Any], pace: Pace) -> Latencies:
    """Run a job at a pace and return the latencies that its parts have left."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        run(pace, Path(folder))
        seen = Latencies()
        for part in gather(folder):
            seen.merge(Latencies(part))
    return seen


def main(run: Callable[[Pace, Path], Any], engine: str, version: str) -> None:
    """Run the job at the pace of the command line; the last line printed is JSON."""
    parser = argparse.ArgumentParser()
    latency_options(parser)
    options = parser.parse_args()
    pace = Pace(options.rate, options.warm, options.measured)
    seen = run_paced(run, pace)
    told = {
        "engine": engine,
        "version": version,
        "rate": pace.rate,
        "measured": seen.count,
        "expected": pace.measured,
        "p50_ms": seen.quantile(0.5),
        "p99_ms": seen.quantile(0.99),
    }
    print(json.dumps(told), flush=True)
