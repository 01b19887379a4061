"""Run a program of examples/ as its reader would: a process of its own, with its own Spark."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
EXPECTED = Path(__file__).parent / "expected"


def output_of(program: Path, folder: Path, *arguments: str) -> str:
    """Return what a program writes to its standard output; it must end well."""
    done = subprocess.run(
        [sys.executable, str(program), *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


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
