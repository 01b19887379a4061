"""How fast is a KeyedProcessFunction with a ValueState, and with a MapState?

Each workload runs at two sizes in one process; the marginal rate between them leaves the start of
the job out. `--pyflink PYTHON` runs the same program on PyFlink as well, with the interpreter of an
environment that has it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "keyed_state_program.py"
KEYS = 10_000
#: Records of the smaller and of the larger run, by API: both are to take some seconds.
SIZES = {"penstock": (1_000_000, 4_000_000), "pyflink": (20_000, 80_000)}
WORKLOADS = ("value", "map", "list", "value with ttl")


def measure(python: str, api: str, workload: str) -> tuple[float, list[float]]:
    """Return records a second, and the seconds of both runs."""
    sizes = SIZES[api]
    command = [python, str(PROGRAM), api, workload, str(KEYS), *map(str, sizes)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seconds = json.loads(done.stdout.splitlines()[-1])
    return (sizes[1] - sizes[0]) / (seconds[1] - seconds[0]), seconds


def main() -> int:
    """Print the marginal rates."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pyflink", metavar="PYTHON", help="interpreter that has PyFlink")
    parser.add_argument("--only", choices=WORKLOADS, action="append")
    options = parser.parse_args()
    pythons = {"penstock": sys.executable}
    if options.pyflink:
        pythons["pyflink"] = options.pyflink
    for workload in options.only or WORKLOADS:
        for api, python in pythons.items():
            rate, (small, large) = measure(python, api, workload)
            sizes = SIZES[api]
            print(
                f"{workload:15} {api:9} {KEYS:,} keys: {rate:>10,.0f} records/s "
                f"({sizes[0]:,} in {small:.1f} s, {sizes[1]:,} in {large:.1f} s)",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
