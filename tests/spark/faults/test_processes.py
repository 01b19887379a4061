"""The JVM dies, or outlives its program because of a forked child: neither ends the work."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from penstock.spark.processes import started
from tests.spark.conftest import RunProgram

PROGRAMS = Path(__file__).parents[1] / "programs"


def lines_of(folder: Path) -> list[str]:
    files = sorted(folder.iterdir()) if folder.is_dir() else [folder]
    return sorted(line for file in files for line in file.read_text().splitlines())


def sums() -> list[str]:
    totals = {"a": 0, "b": 0}
    found = []
    for number in range(80):
        key = "ab"[number % 2]
        totals[key] += number
        found.append(str((key, totals[key])))
    return sorted(found)


@pytest.mark.timeout(300)
def test_spark_is_started_again(run_program: RunProgram, tmp_path: Path) -> None:
    with run_program(PROGRAMS / "jvm_dies.py", tmp_path) as program:
        assert program.finish(250).splitlines() == ["another", "1> 1", "1 nursery"]
    assert (tmp_path / "killed").exists()
    assert lines_of(tmp_path / "sums") == sums()
    assert list((tmp_path / "checkpoints").iterdir()) == []


@pytest.mark.timeout(300)
def test_the_jvm_of_the_programs_own_session(run_program: RunProgram, tmp_path: Path) -> None:
    with run_program(PROGRAMS / "jvm_dies.py", tmp_path, "own") as program:
        output = program.finish(250).splitlines()
    told = [
        "the JVM of the program's own SparkSession has ended",
        "  got:   signal 9 (SIGKILL)",
        "  to do: make the SparkSession anew before execute(), or let Penstock start Spark: then "
        "it starts it again and the job goes on",
    ]
    assert output == [*told, "same", *told]


@pytest.mark.timeout(300)
def test_a_forked_child_that_lives_on(run_program: RunProgram, tmp_path: Path) -> None:
    with run_program(PROGRAMS / "forking.py", tmp_path, "wait") as program:
        assert program.process.stdout is not None
        child, driver = map(int, program.process.stdout.readline().split())
        os.kill(driver, signal.SIGKILL)  # and nothing else
        try:
            with run_program(PROGRAMS / "forking.py", tmp_path, "go on") as again:
                assert again.finish(200).splitlines() == ["done"]
            assert started(child) is not None
        finally:
            os.kill(child, signal.SIGKILL)
        program.process.wait()
    assert lines_of(tmp_path / "numbers") == sorted(map(str, range(20)))
    deadline = time.monotonic() + 30
    while processes_of(program.process.pid):
        assert time.monotonic() < deadline, "something of the killed program is still running"
        time.sleep(0.1)


def processes_of(group: int) -> list[int]:
    """Return what runs in a process group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z" and int(fields[2]) == group:
            found.append(int(path.parent.name))
    return found
