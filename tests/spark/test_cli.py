"""The command line against real jobs: run, list, savepoint, stop, resume at another parallelism."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.execution.job_control import running_jobs

PROGRAM = Path(__file__).parent / "programs" / "endless_counts.py"
PENSTOCK = [sys.executable, "-m", "penstock.cli.main"]


@pytest.fixture(autouse=True)
def own_temporary_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    folder = tmp_path_factory.mktemp("t")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def jobs_end() -> Iterator[None]:
    yield
    for job in running_jobs():
        job.ask("cancel", timeout=60)


def _penstock(*arguments: object, code: int = 0) -> str:
    done = subprocess.run(
        [*PENSTOCK, *map(str, arguments)], capture_output=True, text=True, timeout=280
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def _run(output: Path, *options: object) -> str:
    told = _penstock("run", "-d", *options, PROGRAM, output)
    found = re.search(r"Job has been submitted with JobID ([0-9a-f]{32})\n", told)
    assert found, told
    return found.group(1)


def _lines(output: Path) -> list[str]:
    files = [output] if output.is_file() else sorted(output.glob("[0-9]*"))
    return [line for file in files for line in file.read_text().splitlines()]


def _wait_for_lines(output: Path, count: int) -> None:
    until = time.monotonic() + 200
    while len(_lines(output)) < count:
        assert time.monotonic() < until, f"only {len(_lines(output))} lines"
        time.sleep(0.3)


@pytest.mark.timeout(600)
def test_savepoint_stop_and_resume(tmp_path: Path, jobs_end: None) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    job = _run(first, "-p", 2, "-D", f"execution.checkpointing.dir={tmp_path / 'checkpoints'}")
    _wait_for_lines(first, 50)
    assert f" : {job} : endless counts (RUNNING)" in _penstock("list")
    told = _penstock("savepoint", job, tmp_path / "savepoints")
    kept = re.search(r"Savepoint completed. Path: (\S+)", told)
    assert kept
    told = _penstock("stop", "--savepointPath", tmp_path / "savepoints", job)
    stopped = re.search(r"Savepoint completed. Path: (\S+)", told)
    assert stopped
    assert "No running jobs." in _penstock("list")

    _run(second, "-p", 1, "-s", stopped.group(1))
    _wait_for_lines(second, 50)
    # Each digit's count goes on from where the first run stopped: none is left out, none twice.
    both = sorted(tuple(map(int, line.split())) for line in _lines(first) + _lines(second))
    for digit in range(10):
        counts = [count for of, count in both if of == digit]
        assert counts == list(range(1, len(counts) + 1))

    told = _penstock("savepoint", "-d", kept.group(1))
    assert told.endswith(f"Savepoint '{kept.group(1)}' disposed.\n")
    assert "The program finished with the following exception" in _penstock(
        "savepoint", "-d", kept.group(1), code=1
    )


@pytest.mark.timeout(400)
def test_cancel(tmp_path: Path, jobs_end: None) -> None:
    job = _run(tmp_path / "out", "-p", 1)
    told = _penstock("cancel", job)
    assert told == f"Cancelling job {job}.\nCancelled job {job}.\n"
    assert "there is no job" in _penstock("cancel", "0" * 32, code=1)
