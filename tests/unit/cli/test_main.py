"""The command line: what it prints, and what a program is started with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from penstock.cli import jobs, run
from penstock.cli.main import main
from penstock.errors import JobNotFoundError
from penstock.execution.job_control import JobEntry

ID = "0123456789abcdef" * 2


class AskedJob(JobEntry):
    asked: ClassVar[list[Any]] = []

    def ask(self, what: str, timeout: float | None = None, **arguments: Any) -> Any:
        AskedJob.asked.append((what, arguments))
        return "/tmp/sp/savepoint-1"


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> JobEntry:
    AskedJob.asked = []
    job = AskedJob(ID, "counts", 0.0, 1, "", "RUNNING")

    def find(job_id: str) -> JobEntry:
        if job_id != ID:
            raise JobNotFoundError(f"there is no job {job_id}")
        return job

    monkeypatch.setattr(jobs, "find_job", find)
    monkeypatch.setattr(jobs, "running_jobs", lambda: [job])
    return job


def test_list(job: JobEntry, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "------------------ Running/Restarting Jobs -------------------"
    assert lines[2].endswith(f" : {ID} : counts (RUNNING)")
    assert lines[-1] == "No scheduled jobs."


def test_savepoint(job: JobEntry, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["savepoint", ID, str(tmp_path)]) == 0
    assert "Savepoint completed. Path: /tmp/sp/savepoint-1" in capsys.readouterr().out
    assert AskedJob.asked == [("savepoint", {"directory": str(tmp_path)})]


def test_stop(job: JobEntry, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["stop", "--savepointPath", str(tmp_path), "--drain", ID]) == 0
    assert "Savepoint completed. Path: /tmp/sp/savepoint-1" in capsys.readouterr().out
    assert AskedJob.asked == [("stop", {"drain": True, "directory": str(tmp_path)})]


def test_cancel(job: JobEntry, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cancel", ID]) == 0
    assert capsys.readouterr().out == f"Cancelling job {ID}.\nCancelled job {ID}.\n"


def test_an_error_is_told_as_flink_does(job: JobEntry, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cancel", "f" * 32]) == 1
    told = capsys.readouterr().err
    assert " The program finished with the following exception:\n\nthere is no job ffff" in told


def test_run_becomes_the_program_with_its_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "job.py"
    script.touch()
    started: list[Any] = []
    monkeypatch.setattr(run.os, "execvpe", lambda *call: started.append(call) or exit(0))
    options = ["-p", "3", "-s", "sp/1", "-n", "-D", "a.b=c=d", "-m", "local[2]"]
    with pytest.raises(SystemExit):
        main(["run", *options, str(script), "--port", "9"])
    ((_, command, environment),) = started
    assert command[1:] == [str(script), "--port", "9"]
    assert json.loads(environment["PENSTOCK_CLIENT_OPTIONS"]) == {
        "a.b": "c=d",
        "parallelism.default": "3",
        "penstock.master": "local[2]",
        "execution.state-recovery.path": str(Path("sp/1").absolute()),
        "execution.state-recovery.ignore-unclaimed-state": "true",
    }


def test_run_without_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"]) == 1
    assert "no program is given" in capsys.readouterr().err
    assert main(["run", "nowhere.py"]) == 1
    assert "there is no such program" in capsys.readouterr().err
