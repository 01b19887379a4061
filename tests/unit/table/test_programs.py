"""Small programs print what they print on PyFlink, in both modes.

The expected output was recorded by `scripts/record_table_programs.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.table import EnvironmentSettings, TableEnvironment
from tests.table_programs import FOLDER, Program, comparable, read_programs

PROGRAMS = [
    (program, mode)
    for path in sorted(FOLDER.glob("*.txt"))
    for program in read_programs(path)
    for mode in program.modes
]


@pytest.mark.parametrize(("program", "mode"), PROGRAMS, ids=str)
def test_a_program_prints_what_it_prints_on_pyflink(
    program: Program, mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    t_env = TableEnvironment.create(getattr(EnvironmentSettings, f"in_{mode}_mode")())
    t_env.get_config().set("parallelism.default", "1").set("execution.target", "in-process")
    names: dict[str, Any] = {"t_env": t_env, "MODE": mode, "OUT": str(tmp_path)}
    exec(compile(program.source("penstock"), f"{program.title}.py", "exec"), names)
    assert comparable(capsys.readouterr().out) == comparable(program.output[mode])
