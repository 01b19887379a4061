"""Measure Penstock beside its peers: the same work, the same machine, one after the other.

    python -m bench.compare                              everything
    python -m bench.compare --group sql --quick          the SQL queries, in some minutes
    python -m bench.compare --workload reduce --engine penstock --engine pyflink
    python -m bench.compare --rounds 3                   the medians of three rounds
    python -m bench.compare --quick                      fewer records; says less

Every result is checked against plain Python. What was measured is added to `bench/results.json`,
from which the table (`bench/results.md`) and the plot (`docs/bench.png`) are made; a quick run
leaves them alone and writes under `build/bench`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.engines.query_program import NEXMARK, QUERIES
from bench.environments import FOLDER, HERE, ROOT, NoEnvironmentError, python_of
from bench.measure import ENGINES, Measurement, measure, measure_queries
from bench.report import Report, table
from bench.workloads.catalog import WORKLOADS
from bench.workloads.pace import LATENCY

GROUPS = {
    "streams": [*WORKLOADS, LATENCY],
    "sql": list(QUERIES),
    "nexmark": list(NEXMARK),
}
NAMES = [name for group in GROUPS.values() for name in group]


def draw(results: Path, picture: Path) -> None:
    """Draw the plot, in an environment that has matplotlib."""
    picture.parent.mkdir(parents=True, exist_ok=True)
    try:
        command = [python_of("plot"), "-m", "bench.plot", str(results), str(picture)]
        subprocess.run(command, cwd=ROOT, check=True)
        print(f"plot: {picture.relative_to(ROOT)}")
    except (NoEnvironmentError, subprocess.CalledProcessError) as error:
        print(f"no plot: {error}")


def measured(names: list[str], engines: list[str], quick: bool) -> Iterator[Measurement]:
    """Measure workloads; engines take turns: a machine that is slow for a while is so for all."""
    for name in names:
        if name in GROUPS["streams"]:
            for engine in engines:
                found = measure(ENGINES[engine], name, quick)
                if found is not None:
                    yield found
    for group in ("sql", "nexmark"):
        queries = [name for name in names if name in GROUPS[group]]
        for engine in engines:
            yield from measure_queries(ENGINES[engine], queries, quick)


def main() -> int:
    """Measure what the command line names, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workload", choices=NAMES, action="append")
    parser.add_argument("--group", choices=GROUPS, action="append", help="workloads of a kind")
    parser.add_argument("--engine", choices=ENGINES, action="append")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=1, help="medians are told")
    parser.add_argument("--more", action="store_true", help="rounds beside those of before")
    options = parser.parse_args()

    folder = FOLDER if options.quick else HERE
    folder.mkdir(parents=True, exist_ok=True)
    report = Report.read(folder / "results.json")
    failed = 0
    names = [*(options.workload or ()), *(n for g in options.group or () for n in GROUPS[g])]
    engines = options.engine or list(ENGINES)
    for number in range(options.rounds):
        for found in measured(names or NAMES, engines, options.quick):
            failed += found.error is not None
            report.add(found, again=options.more or number > 0)
            report.write()
            print(report.line(found), flush=True)
    text = table(report)
    (folder / "results.md").write_text(text)
    print("\n" + text)
    draw(report.path, (FOLDER if options.quick else ROOT / "docs") / "bench.png")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
