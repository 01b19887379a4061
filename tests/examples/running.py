"""Run programs of examples/ and compare what they print."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(EXAMPLES.rglob("*.py"))
EXPECTED = Path(__file__).parent / "expected"
ONE_PROCESS = Path(__file__).parent / "one_process.py"


def output_of(program: Path, folder: Path, *arguments: str, seconds: int = 240) -> str:
    """Return what a program writes to its standard output; it must end well."""
    done = subprocess.run(
        [sys.executable, str(program), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        timeout=seconds,
    )
    assert done.returncode == 0
    return done.stdout


def outputs_of_all(programs: list[Path], folder: Path) -> dict[Path, str]:
    """Return what each of several programs writes, run one after another in one process."""
    text = output_of(ONE_PROCESS, folder, *map(str, programs), seconds=500)
    parts = [part.partition("\n") for part in text.split("=== ")[1:]]
    return {Path(program): output for program, _, output in parts}


def expected_of(program: Path) -> str:
    return (EXPECTED / program.relative_to(EXAMPLES).with_suffix(".txt")).read_text()


def by_beginning(output: str) -> dict[tuple[str, ...], list[str]]:
    """Return lines by their first two words.

    Order is promised for one key and one sink, not between them; the examples begin their lines
    accordingly.
    """
    groups = defaultdict(list)
    for line in output.splitlines():
        groups[tuple(line.split()[:2])].append(line)
    return dict(groups)
