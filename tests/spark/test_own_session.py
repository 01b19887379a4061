"""A SparkSession that the user's program has made: used, and left as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.conftest import RunProgram

PROGRAM = Path(__file__).parent / "programs" / "own_session.py"


@pytest.mark.timeout(300)
def test_two_jobs_in_the_users_session(run_program: RunProgram) -> None:
    with run_program(PROGRAM) as program:
        printed = program.finish()
    jobs = [line for line in printed.splitlines() if not line.startswith("told ")]
    assert jobs == [
        "first:1> 1",
        "first:1> 3",
        "second:1> 1",
        "second:1> 3",
        "stopped by its owner",
    ]
    assert printed.count("told 1\n") == printed.count("told 3\n") == 2
