"""Small programs for tables with the output that PyFlink gives them.

    == title [streaming only]
    program
    t_env.execute_sql("SELECT 1").print()
    streaming
    +----+ ...
    batch
    +-----+ ...

A program has `t_env`, `MODE` and a folder `OUT`, and every public name of `pyflink.table`. Where it
imports from `pyflink`, the tests read `penstock`. `scripts/record_table_programs.py` records the
output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "cases" / "programs"
MODES = ("streaming", "batch")
PRELUDE = """
import datetime
from decimal import Decimal
from pyflink.common import *
from pyflink.table import *
from pyflink.table.expressions import *
from pyflink.table.udf import *
from pyflink.table.window import *
"""
_MARK = re.compile(r"== (?P<title>\w+)(?: \[(?P<only>\w+) only\])?")


@dataclass
class Program:
    """A program and, by mode, what it prints."""

    file: str
    title: str
    modes: tuple[str, ...] = MODES
    code: str = ""
    output: dict[str, str] = field(default_factory=dict)

    def source(self, package: str) -> str:
        """Return the code with the names that it uses, for one of the two packages."""
        return re.sub(r"\bpyflink\b", package, f"{PRELUDE}\n{self.code}")

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"


def read_programs(path: Path) -> list[Program]:
    """Return the programs of a file."""
    programs: list[Program] = []
    part = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := _MARK.fullmatch(line):
            modes = (match["only"],) if match["only"] else MODES
            programs.append(Program(path.stem, match["title"], modes))
            part = ""
        elif line in ("program", *MODES):
            part = line
        elif part == "program":
            programs[-1].code += f"{line}\n"
        elif part:
            programs[-1].output[part] = programs[-1].output.get(part, "") + f"{line}\n"
    return programs


def write_programs(path: Path, programs: list[Program]) -> None:
    """Write programs and their output."""
    lines = []
    for program in programs:
        only = f" [{program.modes[0]} only]" if len(program.modes) == 1 else ""
        lines += [f"== {program.title}{only}", "program", program.code.strip("\n")]
        for mode in program.modes:
            lines += [mode, comparable(program.output.get(mode, ""))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def comparable(output: str) -> str:
    """Return output without what editors take away: blanks at line ends and at the end."""
    return "\n".join(line.rstrip() for line in output.rstrip().splitlines())
