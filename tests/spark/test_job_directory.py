"""The folder of a job: its name, its owner, its end."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from penstock.errors import ConfigurationError, JobFailedError
from penstock.graph.plan import ExecutionPlan
from penstock.spark import directory
from penstock.spark.directory import take_folder

PLAN = ExecutionPlan("job", (), slots=2, levels=1)


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the count of executions begin anew, as in a new process."""
    monkeypatch.setattr(directory, "_executed", type(directory._executed)())


def settings(path: Path, **more: str) -> dict[str, str]:
    return {"execution.checkpointing.dir": str(path), **more}


def test_names(tmp_path: Path) -> None:
    names = [take_folder(settings(tmp_path), n, PLAN, 1).path.name for n in ("My job!", "My job!")]
    assert names == ["My-job", "My-job-2"]
    assert take_folder(settings(tmp_path), "../..", PLAN, 1).path.parent == tmp_path
    old_key = {"state.checkpoints.dir": f"file://{tmp_path}/x y"}
    assert take_folder(old_key, "j", PLAN, 1).path == tmp_path / "x y" / "j"


def test_without_a_setting_the_folder_is_temporary() -> None:
    folder = take_folder({}, "job", PLAN, 1)
    assert folder.path.is_dir()
    folder.release()
    assert not folder.path.exists()


@pytest.mark.parametrize(
    ("end", "retention", "kept"),
    [
        ({"finished": True}, "RETAIN_ON_CANCELLATION", False),
        ({"cancelled": True}, "", False),
        ({"cancelled": True}, "DELETE_ON_CANCELLATION", False),
        ({"cancelled": True}, "RETAIN_ON_CANCELLATION", True),
        ({}, "", True),
    ],
)
def test_what_stays(tmp_path: Path, end: dict[str, bool], retention: str, kept: bool) -> None:
    configuration = settings(tmp_path, **{directory.RETENTION_KEY: retention})
    folder = take_folder(configuration, "job", PLAN, 1)
    folder.release(**end)
    assert folder.path.exists() == kept


def test_an_unfinished_job_is_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = take_folder(settings(tmp_path), "job", PLAN, None)
    commits = Path(first.spark) / "commits"
    commits.mkdir(parents=True)
    assert first.last_committed() is None
    for name in ("9", "10", ".11.tmp", ".10.crc"):
        (commits / name).touch()
    first.release()
    monkeypatch.setattr(directory, "_executed", type(directory._executed)())
    again = take_folder(settings(tmp_path), "job", PLAN, None)
    assert (again.path, again.job_id) == (first.path, first.job_id)
    assert again.last_committed() == 10


def test_a_folder_has_one_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = take_folder(settings(tmp_path), "job", PLAN, 1)
    monkeypatch.setattr(directory, "_executed", type(directory._executed)())
    with pytest.raises(JobFailedError) as caught:
        take_folder(settings(tmp_path), "job", PLAN, 1)
    assert str(caught.value) == (
        "another process is running this job\n"
        f"  where: job directory {held.path}\n"
        "  to do: wait until it ends, or give this job another name or checkpoint directory"
    )


def test_a_program_of_another_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take_folder(settings(tmp_path), "job", PLAN, 1).release()
    monkeypatch.setattr(directory, "_executed", type(directory._executed)())
    with pytest.raises(ConfigurationError) as caught:
        take_folder(settings(tmp_path), "job", ExecutionPlan("job", (), slots=4, levels=1), 1)
    assert str(caught.value) == (
        "the checkpoint belongs to a job of another shape\n"
        f"  where: job directory {tmp_path / 'job'}\n"
        "  got:   parallelism 4 in 1 exchange level(s); the checkpoint has parallelism 2 in 1 "
        "exchange level(s)\n"
        "  to do: run the program with the parallelism and exchanges that it had, or start anew "
        "with another job name or checkpoint directory"
    )


def test_the_jvm_of_an_earlier_run_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_folder(settings(tmp_path), "job", PLAN, os.getpid()).release()
    monkeypatch.setattr(directory, "_executed", type(directory._executed)())
    monkeypatch.setattr(directory, "_PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(directory, "_is_jvm", lambda pid: pid == os.getpid())
    with pytest.raises(JobFailedError, match="an earlier run of this job has not ended"):
        take_folder(settings(tmp_path), "job", PLAN, 1)
    facts = json.loads((tmp_path / "job" / "job.json").read_text())
    assert facts["jvm_pid"] == os.getpid()


def test_a_file_system_that_is_not_local() -> None:
    with pytest.raises(ConfigurationError) as caught:
        take_folder({"execution.checkpointing.dir": "s3://bucket/x"}, "job", PLAN, 1)
    assert str(caught.value) == (
        "checkpoints can be kept on a local or mounted file system only\n"
        "  where: configuration key execution.checkpointing.dir\n"
        "  got:   's3://bucket/x'\n"
        "  to do: give a path, or a file: address"
    )
