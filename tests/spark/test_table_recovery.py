"""Queries that are killed, and queries that are stopped and go on with another parallelism."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.table import StreamTableEnvironment, TableEnvironment
from tests.spark.conftest import MakeEnvironment, RunProgram
from tests.spark.programs.sql_queries import FATAL, inserts, lines, results

PROGRAM = Path(__file__).parent / "programs" / "sql_queries.py"
ROWS = 120


def put(folder: Path, name: str, first: int, last: int) -> None:
    """Let files appear as a whole."""
    for table, text in lines(first, last).items():
        (folder / table).mkdir(parents=True, exist_ok=True)
        hidden = folder / table / f".{name}"
        hidden.write_text(text)
        hidden.rename(folder / table / name)


def expected(run_program: RunProgram, folder: Path, out: Path) -> dict[str, Counter[Any]]:
    """Return what one run that nobody disturbs gives."""
    out.mkdir()
    with run_program(PROGRAM, folder, out, "in-process") as program:
        program.finish()
    found = results(out)
    assert all(sum(table.values()) > 4 for table in found.values())
    assert all(count > 0 for table in found.values() for count in table.values())
    return found


@pytest.mark.timeout(900)
def test_a_killed_query_goes_on_as_if_nothing_had_happened(
    run_program: RunProgram, tmp_path: Path
) -> None:
    assert FATAL < ROWS
    put(tmp_path / "in", "1.csv", 0, ROWS)
    wanted = expected(run_program, tmp_path / "in", tmp_path / "whole")
    out = tmp_path / "killed"
    out.mkdir()
    (out / "fatal").touch()
    with run_program(PROGRAM, tmp_path / "in", out, "spark") as program:
        program.wait_for_death()
    assert not (out / "fatal").exists()
    assert results(out) != wanted
    with run_program(PROGRAM, tmp_path / "in", out, "spark") as program:
        program.finish()
    assert results(out) == wanted


def _started(t_env: TableEnvironment, folder: Path, out: Path) -> Any:
    client = inserts(t_env, folder, out, "100 ms").execute().get_job_client()
    assert client is not None
    return client


def _wait_for(out: Path, rows: int) -> None:
    """Wait until the aggregate has counted so many rows."""
    _wait_until(lambda: sum(row[1] * n for row, n in results(out)["aggregate"].items()) == rows)


def _wait_until(condition: Callable[[], Any], seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.3)


@pytest.mark.timeout(900)
def test_stopped_queries_go_on_with_another_parallelism(
    make_env: MakeEnvironment, run_program: RunProgram, tmp_path: Path
) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    out.mkdir()
    put(folder, "1.csv", 0, ROWS // 2)
    settings = {"pipeline.name": "queries"}
    client = _started(StreamTableEnvironment.create(make_env(2, **settings)), folder, out)
    _wait_for(out, ROWS // 2)
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    put(folder, "2.csv", ROWS // 2, ROWS)
    again = make_env(3, **settings, **{"execution.state-recovery.path": str(savepoint)})
    client = _started(StreamTableEnvironment.create(again), folder, out)
    _wait_for(out, ROWS)
    client.stop_with_savepoint(True, str(tmp_path / "savepoints")).result()
    assert results(out) == expected(run_program, folder, tmp_path / "whole")
