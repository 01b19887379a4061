"""Jobs are found and asked by other processes of the same user."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock.common import JobExecutionResult, JobStatus
from penstock.errors import JobFailedError, JobNotFoundError, StateError
from penstock.execution import job_control, process_folder
from penstock.execution.executor import JobHandle
from penstock.execution.job_control import announce_job, find_job, running_jobs


class FakeJob(JobHandle):
    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        self.ended = threading.Event()

    def status(self) -> JobStatus:
        return JobStatus.CANCELED if self.ended.is_set() else JobStatus.RUNNING

    def wait(self) -> JobExecutionResult:
        self.ended.wait()
        return JobExecutionResult(self.job_id, 0)

    def cancel(self) -> None:
        self.ended.set()

    def accumulators(self) -> dict[str, Any]:
        return {}

    def trigger_savepoint(self, directory: str | None) -> str:
        if directory is None:
            raise StateError("no folder for savepoints is known", todo="name one")
        return f"{directory}/savepoint-1"


@pytest.fixture(autouse=True)
def folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A short one: the path of a socket has hardly more than a hundred characters.
    folder = tmp_path_factory.mktemp("t")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr(process_folder, "_folder", None)
    monkeypatch.setattr(job_control, "_server", None)
    return folder


def test_a_job_is_found_by_its_id_with_name_and_status() -> None:
    announce_job(FakeJob("a" * 32), "counts")
    announce_job(FakeJob("b" * 32), "日次集計")
    found = running_jobs()
    assert [(job.name, job.status, job.pid) for job in found] == [
        ("counts", "RUNNING", os.getpid()),
        ("日次集計", "RUNNING", os.getpid()),
    ]
    assert find_job("b" * 32).name == "日次集計"


def test_an_unknown_job() -> None:
    announce_job(FakeJob("a" * 32), "counts")
    with pytest.raises(JobNotFoundError) as caught:
        find_job("c" * 32)
    assert str(caught.value) == (
        f"there is no job {'c' * 32}\n"
        f"  got:   running: {'a' * 32}\n"
        "  to do: take the id from 'penstock list'"
    )


def test_savepoint_and_cancel() -> None:
    announce_job(FakeJob("a" * 32), "counts")
    job = find_job("a" * 32)
    assert job.ask("savepoint", directory="/somewhere") == "/somewhere/savepoint-1"
    job.ask("cancel")
    assert find_job("a" * 32).status == "CANCELED"


def test_why_a_savepoint_failed_reaches_whoever_asked() -> None:
    announce_job(FakeJob("a" * 32), "counts")
    with pytest.raises(JobFailedError, match="no folder for savepoints is known"):
        find_job("a" * 32).ask("savepoint", directory=None)


def test_a_process_that_is_gone_is_left_out(folders: Path) -> None:
    left = folders / f"{process_folder.PREFIX}gone"
    (left / "jobs").mkdir(parents=True)
    entry = {"name": "x", "began": 0.0, "pid": 1}
    (left / "jobs" / f"{'d' * 32}.json").write_text(json.dumps(entry))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(left / "control"))
    assert running_jobs() == []


def test_the_command_line_is_told_the_id(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    announce_job(FakeJob("a" * 32), "quiet")
    monkeypatch.setenv("PENSTOCK_PRINT_JOB_IDS", "1")
    announce_job(FakeJob("b" * 32), "told")
    assert capsys.readouterr().out == f"Job has been submitted with JobID {'b' * 32}\n"
