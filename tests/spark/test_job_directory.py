"""The folder of a job: its name, its owner, its end."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from pyarrow import fs

from penstock.common.options import RETENTION
from penstock.connectors.file_paths import register_file_system
from penstock.errors import ConfigurationError, JobFailedError
from penstock.spark import directory, folder_hold
from penstock.spark.directory import check_directory, folder_name, may_go_on, take_folder
from penstock.spark.processes import started


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process have run nothing yet."""
    monkeypatch.setattr(directory, "_taken", set())


def settings(path: Path, **more: str) -> dict[str, str]:
    return {"execution.checkpointing.dir": str(path), **more}


def test_the_folder_is_named_after_the_job(tmp_path: Path) -> None:
    folder = take_folder(settings(tmp_path), "My job!", 1)
    assert Path(folder.path) == tmp_path / "My-job-7a394ae17015"
    assert Path(take_folder(settings(tmp_path), "../..", 1).path).parent == tmp_path
    old_key = {"state.checkpoints.dir": f"file://{tmp_path}/x y"}
    assert Path(take_folder(old_key, "j", 1).path) == tmp_path / "x y" / folder_name("j")


def test_names_that_look_alike_have_folders_of_their_own(tmp_path: Path) -> None:
    names = [
        "日次集計",
        "月次集計",
        "a b",
        "a/b",
        "A b",
        "a b ",
        "",
        "x" * 300,
        "x" * 301,
        "\ud800",
    ]
    folders = [Path(take_folder(settings(tmp_path), name, 1).path) for name in names]
    assert len({str(folder).casefold() for folder in folders}) == len(names)
    for name, folder in zip(names, folders, strict=True):
        assert json.loads((folder / "job.json").read_text())["name"] == name
        assert folder.name.isascii()
        assert len(folder.name) < 100


def test_a_folder_with_another_name_in_it(tmp_path: Path) -> None:
    folder = take_folder(settings(tmp_path), "daily", 1)
    folder.release()
    facts = Path(folder.path) / "job.json"
    facts.write_text(facts.read_text().replace("daily", "weekly"))
    with pytest.raises(ConfigurationError) as caught:
        take_folder(settings(tmp_path), "daily", 1)
    assert str(caught.value) == (
        "the checkpoint belongs to a job of another name\n"
        f"  where: job directory {Path(folder.path)}\n"
        "  got:   'daily'; the checkpoint is of 'weekly'\n"
        "  to do: give this job another name or checkpoint directory"
    )


def test_a_failed_job_is_taken_up_by_the_same_process(tmp_path: Path) -> None:
    first = take_folder(settings(tmp_path), "job", 1)
    first.release()
    again = take_folder(settings(tmp_path), "job", 1)
    assert (Path(again.path), again.job_id) == (Path(first.path), first.job_id)
    again.release(finished=True)
    assert list(tmp_path.iterdir()) == []


def test_jobs_of_one_name_in_a_program_have_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = folder_name("job")
    first = take_folder(settings(tmp_path), "job", 1)
    beside = take_folder(settings(tmp_path), "job", 1)
    assert [Path(first.path).name, Path(beside.path).name] == [name, f"{name}-2"]
    first.release(finished=True)
    beside.release()
    # The second failed and is tried again; in the next process the first runs once more before it.
    assert take_folder(settings(tmp_path), "job", 1).job_id == beside.job_id
    directory._taken.clear()
    assert Path(take_folder(settings(tmp_path), "job", 1).path) == Path(first.path)


def test_without_a_setting_the_folder_is_temporary() -> None:
    folder = take_folder({}, "job", 1)
    assert Path(folder.path).is_dir()
    folder.release()
    assert not Path(folder.path).exists()


@pytest.mark.parametrize(
    ("end", "retention", "kept"),
    [
        ({"finished": True}, "RETAIN_ON_CANCELLATION", False),
        ({"cancelled": True}, "NO_EXTERNALIZED_CHECKPOINTS", False),
        ({"cancelled": True}, "DELETE_ON_CANCELLATION", False),
        ({"cancelled": True}, "RETAIN_ON_CANCELLATION", True),
        ({}, "NO_EXTERNALIZED_CHECKPOINTS", True),
    ],
)
def test_what_stays(tmp_path: Path, end: dict[str, bool], retention: str, kept: bool) -> None:
    configuration = settings(tmp_path, **{RETENTION.key: retention})
    folder = take_folder(configuration, "job", 1)
    folder.release(**end)
    assert Path(folder.path).exists() == kept


def test_a_directory_is_looked_at_before_spark_is_started(tmp_path: Path) -> None:
    check_directory({})
    check_directory({"execution.checkpointing.dir": str(tmp_path / "new" / "one")})
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError) as caught:
        check_directory({"state.checkpoints.dir": f"file://{tmp_path}/file/one"})
    assert str(caught.value) == (
        "the checkpoint directory cannot be written\n"
        "  where: configuration key state.checkpoints.dir\n"
        f"  got:   {tmp_path}/file/one; {tmp_path}/file is no folder\n"
        "  to do: name a folder that this user can write to"
    )


def test_an_unfinished_job_is_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = take_folder(settings(tmp_path), "job", None)
    commits = Path(first.spark) / "commits"
    commits.mkdir(parents=True)
    assert first.last_committed() is None
    for name in ("9", "10", ".11.tmp", ".10.crc"):
        (commits / name).touch()
    first.release()
    monkeypatch.setattr(directory, "_taken", set())
    again = take_folder(settings(tmp_path), "job", None)
    assert (Path(again.path), again.job_id) == (Path(first.path), first.job_id)
    assert again.last_committed() == 10


def test_a_folder_has_one_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = take_folder(settings(tmp_path), "job", 1)
    monkeypatch.setattr(directory, "_taken", set())
    with pytest.raises(JobFailedError) as caught:
        take_folder(settings(tmp_path), "job", 1)
    assert str(caught.value) == (
        "another process is running a job of this name\n"
        f"  where: job directory {Path(held.path)}\n"
        "  to do: wait until it ends, or give this job another name or checkpoint directory"
    )


def test_a_kill_while_the_folder_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run begins anew; the half that is left would be a job of an unknown past."""
    first = take_folder(settings(tmp_path), "job", 1)
    (Path(first.spark) / "commits").mkdir(parents=True)
    (Path(first.spark) / "commits" / "7").touch()
    monkeypatch.setattr(directory.shutil, "rmtree", lambda path, **_: None)
    first.release(finished=True)
    monkeypatch.undo()
    directory._taken.clear()
    second = take_folder(settings(tmp_path), "job", 1)
    assert Path(second.path) == Path(first.path)
    assert second.job_id != first.job_id
    assert second.last_committed() is None
    second.release(finished=True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_goes_while_another_process_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = take_folder(settings(tmp_path), "job", 1)
    directory._taken.clear()
    lock, late = folder_hold.fcntl.flock, []

    def flock(handle: int, operation: int) -> None:
        if not late:
            late.append(handle)
            first.release(finished=True)
        lock(handle, operation)

    monkeypatch.setattr(folder_hold.fcntl, "flock", flock)
    second = take_folder(settings(tmp_path), "job", 1)
    assert late
    assert (Path(second.path) / "job.json").exists()


def test_the_jvm_of_an_earlier_run_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory, "_PATIENCE_SECONDS", 0.3)
    folder = take_folder(settings(tmp_path), "job", os.getpid())
    folder.release()
    with pytest.raises(JobFailedError) as caught:
        take_folder(settings(tmp_path), "job", 1)
    assert str(caught.value) == (
        "an earlier run of this job has not ended\n"
        f"  where: job directory {Path(folder.path)}\n"
        f"  got:   process {os.getpid()} is still running\n"
        f"  to do: end process {os.getpid()}, then start the job again"
    )
    assert take_folder(settings(tmp_path), "job", os.getpid()).job_id == folder.job_id


def test_another_process_with_the_number_of_the_earlier_jvm(tmp_path: Path) -> None:
    folder = take_folder(settings(tmp_path), "job", os.getpid())
    folder.release()
    facts = json.loads((Path(folder.path) / "job.json").read_text())
    # A Java program of somebody else got the number.
    with subprocess.Popen(["sleep", "60"], executable="/bin/sleep") as other:
        facts["jvm"] = {"pid": other.pid, "started": facts["jvm"]["started"]}
        (Path(folder.path) / "job.json").write_text(json.dumps(facts))
        assert take_folder(settings(tmp_path), "job", 1).job_id == folder.job_id
        assert started(other.pid) not in (None, facts["jvm"]["started"])
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert started(other.pid) is None, "it has ended, though nobody has asked how"
    assert started(other.pid) is None


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Serve lake:// from a folder of this machine; return the folder."""
    (tmp_path / "lake").mkdir()
    local = fs.SubTreeFileSystem(str(tmp_path / "lake"), fs.LocalFileSystem())
    register_file_system("lake", local)
    return tmp_path / "lake"


LAKE = {"execution.checkpointing.dir": "lake://jobs/"}


def test_a_store_that_is_not_local(lake: Path) -> None:
    check_directory(LAKE)
    first = take_folder(LAKE, "job", 1)
    assert first.path == f"lake://jobs/{folder_name('job')}"
    assert first.spark == f"{first.path}/spark" and first.penstock == f"{first.path}/penstock"
    assert Path(first.local).is_dir() and first.last_committed() is None
    assert may_go_on(LAKE, "job") and not may_go_on(LAKE, "other")
    commits = lake / "jobs" / folder_name("job") / "spark" / "commits"
    commits.mkdir(parents=True)
    for name in ("0", "9", "10", ".10.crc"):
        (commits / name).touch()
    assert first.last_committed() == 10
    first.release()
    assert not Path(first.local).exists()
    again = take_folder(LAKE, "job", 1)
    assert again.job_id == first.job_id and again.owner != first.owner
    again.begin_anew("lake://savepoints/x")
    assert not commits.exists() and again.spark.endswith("/spark-1")
    again.release(finished=True)
    assert not (lake / "jobs" / folder_name("job")).exists()


def test_two_processes_of_one_machine_in_a_store_without_locks(lake: Path) -> None:
    folder = take_folder(LAKE, "job", 1)
    directory._taken.clear()
    with pytest.raises(JobFailedError, match="another process is running a job of this name"):
        take_folder(LAKE, "job", 1)
    folder.release()


def test_another_machine_takes_a_job_over(lake: Path) -> None:
    folder = take_folder(LAKE, "job", 1)
    folder.require_own()
    facts = lake / "jobs" / folder_name("job") / "job.json"
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "owner": "somebody else"}))
    with pytest.raises(JobFailedError) as caught:
        folder.require_own()
    assert str(caught.value) == (
        "another process has taken the job over\n"
        f"  where: job directory {folder.path}\n"
        "  to do: run a job in one place at a time, or with another name or checkpoint directory"
    )
    folder.release()


def test_what_is_left_of_a_folder_without_facts_is_nobodys(lake: Path) -> None:
    left = lake / "jobs" / folder_name("job") / "spark" / "commits" / "7"
    left.parent.mkdir(parents=True)
    left.touch()
    folder = take_folder(LAKE, "job", 1)
    assert folder.last_committed() is None
    folder.release()


def test_a_store_that_nobody_knows() -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_directory({"execution.checkpointing.dir": "nowhere://bucket/x"})
    assert "a file system cannot be reached" in str(caught.value)
    assert "to do: pass a path, a URL that pyarrow.fs can connect to" in str(caught.value)
