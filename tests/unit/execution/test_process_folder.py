"""The folder of a process: gone with it, and left alone as long as it lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.execution import process_folder
from penstock.execution.process_folder import ProcessFolder, sweep

#: Makes its folder with a file in it, tells the path, and goes on when a line comes.
PROGRAM = """
import sys
from penstock.execution.process_folder import process_folder
folder = process_folder()
(folder.make("job") / "file").write_text("x")
print(folder.path, flush=True)
{then}
sys.stdin.readline()
"""
#: A process like Spark's JVM: it inherits the lock, and lives on.
CHILD = """
import subprocess
child = subprocess.Popen(["sleep", "30"], stdout=subprocess.DEVNULL, pass_fds=(folder.lock,))
print(child.pid, flush=True)
"""


@contextmanager
def program(folder: Path, then: str = "") -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(then=then)],
        env={**os.environ, "TMPDIR": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def told(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_it_goes_with_the_process(tmp_path: Path) -> None:
    with program(tmp_path) as process:
        path = Path(told(process))
        assert path.parent == tmp_path
        assert [child.name.partition("-")[0] for child in path.iterdir() if child.is_dir()] == [
            "job"
        ]
        process.communicate("end\n")
        assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    with program(tmp_path) as process:
        left = Path(told(process))
        process.kill()
        process.wait()
    assert left.is_dir()
    with program(tmp_path) as process:
        own = Path(told(process))
        assert list(tmp_path.iterdir()) == [own]
    assert not left.exists()


def test_one_that_lives_is_left_alone(tmp_path: Path) -> None:
    with program(tmp_path) as one, program(tmp_path) as two:
        paths = {Path(told(one)), Path(told(two))}
        sweep(tmp_path)
        assert set(tmp_path.iterdir()) == paths
        assert all(len(list(path.iterdir())) == 2 for path in paths)


def test_a_child_that_inherits_the_lock_holds_the_folder(tmp_path: Path) -> None:
    with program(tmp_path, CHILD) as process:
        path, child = Path(told(process)), int(told(process))
        process.kill()
        process.wait()
    sweep(tmp_path)
    assert path.is_dir()
    os.kill(child, signal.SIGKILL)
    while path.is_dir():
        sweep(tmp_path)


#: A child of the user's own, forked: it must hold nothing.
FORKED = """
import os, time
child = os.fork()
if child == 0:
    os.close(1)
    time.sleep(30)
    os._exit(0)
print(child, flush=True)
"""


def test_a_forked_child_does_not_hold_the_folder(tmp_path: Path) -> None:
    with program(tmp_path, FORKED) as process:
        path, child = Path(told(process)), int(told(process))
        process.kill()
        process.wait()
    try:
        sweep(tmp_path)
        assert not path.exists()
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)


def test_nothing_is_removed_for_its_name_alone(tmp_path: Path) -> None:
    mine = tmp_path / "penstock-run-results"
    mine.mkdir()
    (mine / "results.csv").touch()
    (tmp_path / "penstock-run-link").symlink_to(mine)
    (tmp_path / "penstock-run-notes.log").touch()
    (tmp_path / "penstock-run-empty").mkdir()
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "penstock-run-link",
        "penstock-run-notes.log",
        "penstock-run-results",
    ]
    assert (mine / "results.csv").exists()


def test_a_folder_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ProcessFolder(tmp_path)
    os.close(folder.lock)
    monkeypatch.setattr(process_folder.os, "getuid", lambda: 12345)
    sweep(tmp_path)
    assert folder.path.is_dir()
    monkeypatch.undo()
    sweep(tmp_path)
    assert not folder.path.exists()


def test_a_sweep_that_comes_before_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, swept = process_folder.fcntl.flock, []

    def late(handle: int, operation: int) -> None:
        if not swept:
            swept.append(handle)
            sweep(tmp_path)
        lock(handle, operation)

    monkeypatch.setattr(process_folder.fcntl, "flock", late)
    folder = ProcessFolder(tmp_path)
    assert swept
    assert list(tmp_path.iterdir()) == [folder.path]
    folder.remove()


def test_a_forked_child_leaves_it_to_its_parent(tmp_path: Path) -> None:
    folder = ProcessFolder(tmp_path)
    child = os.fork()
    if child == 0:
        folder.remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert folder.path.is_dir()
    folder.remove()
    assert not folder.path.exists()


def test_logs_that_were_kept_go_after_a_week(tmp_path: Path) -> None:
    old, new = tmp_path / "penstock-run-old.log", tmp_path / "penstock-run-new.log"
    for log in (old, new):
        log.touch()
    os.utime(old, (0, 0))
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [new]
