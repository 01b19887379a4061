"""A job with every kind of state filled is killed and started again: as if nothing had happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.conftest import RunProgram

PROGRAM = Path(__file__).parent / "programs" / "every_state.py"


def results(folder: Path) -> dict[str, list[str]]:
    """Return all lines of each result, by result."""
    found: dict[str, list[str]] = {}
    for result in sorted(folder.glob("result*")):
        files = [result] if result.is_file() else [f for f in result.rglob("*") if f.is_file()]
        found[result.name] = sorted(line for f in files for line in f.read_text().splitlines())
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_killed_run_equals_one_that_was_not(
    run_program: RunProgram, tmp_path: Path, backend: str
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    with run_program(PROGRAM, whole, "in-process", "hashmap") as program:
        program.finish()
    (killed / "fatal").touch()
    with run_program(PROGRAM, killed, "spark", backend) as program:
        program.wait_for_death()
    assert not (killed / "fatal").exists()
    before = results(killed)
    with run_program(PROGRAM, killed, "spark", backend) as program:
        program.finish()
    expected = results(whole)
    assert before != expected
    assert sum(map(len, expected.values())) > 500
    assert results(killed) == expected
