#!/usr/bin/env python3
"""Record what PyFlink prints for the programs of `tests/cases/programs`.

    build/bench/pyflink/bin/python scripts/record_table_programs.py [file ...]

The environment is the one that `bench/environments.py` makes. Standard output must be a file of its
own: the JVM writes to it as well. So the script starts itself once more.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.table_programs import FOLDER, Program, read_programs, write_programs

_CAPTURE = "RECORD_TABLE_PROGRAMS_OUTPUT"


def main(names: list[str]) -> int:
    """Record files of programs, all if none are named."""
    if _CAPTURE not in os.environ:
        with tempfile.NamedTemporaryFile() as capture:
            environment = {**os.environ, _CAPTURE: capture.name, "PYTHONUNBUFFERED": "1"}
            command = [sys.executable, *sys.argv]
            return subprocess.run(command, stdout=capture, env=environment).returncode
    for path in sorted(FOLDER.glob("*.txt")):
        if names and path.stem not in names:
            continue
        programs = read_programs(path)
        for program in programs:
            for mode in program.modes:
                print(f"{program}, {mode}", file=sys.stderr)
                program.output[mode] = output_of(program, mode)
        write_programs(path, programs)
    return 0


def output_of(program: Program, mode: str) -> str:
    """Return what a program prints on PyFlink."""
    from pyflink.table import EnvironmentSettings, TableEnvironment

    settings = getattr(EnvironmentSettings, f"in_{mode}_mode")()
    t_env = TableEnvironment.create(settings)
    t_env.get_config().set("parallelism.default", "1").set("table.local-time-zone", "UTC")
    for setting in os.environ.get("RECORD_SETTINGS", "").split():
        t_env.get_config().set(*setting.split("=", 1))
    start = os.fstat(1).st_size
    with tempfile.TemporaryDirectory() as folder:
        names: dict[str, Any] = {
            "t_env": t_env,
            "MODE": mode,
            "OUT": folder,
            "__name__": "__main__",
        }
        exec(compile(program.source("pyflink"), f"{program.title}.py", "exec"), names)
    sys.stdout.flush()
    with open(os.environ[_CAPTURE], encoding="utf-8") as capture:
        capture.seek(start)
        return capture.read()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
