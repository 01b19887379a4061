"""What a program leaves in the temporary folder: nothing, or nothing for long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "dying.py"
#: Made by every JVM that ever ran; its owner clears it by itself.
NOT_OURS = {f"hsperfdata_{os.environ.get('USER', 'root')}"}


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A temporary folder for programs; with a short path, as sockets need it."""
    with tempfile.TemporaryDirectory(prefix="p", dir="/tmp") as folder:
        yield Path(folder)


class Run:
    """A program that was started with a temporary folder of its own."""

    def __init__(self, temporary: Path, folder: Path, end: str) -> None:
        self.begun = folder / end
        self._errors = folder / "stderr.txt"
        with self._errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAM), end, str(self.begun)],
                env={**os.environ, "TMPDIR": str(temporary)},
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )

    def ends_with(self, code: int) -> None:
        assert self.process.wait(timeout=200) == code, self._errors.read_text()

    def kill_when_begun(self) -> None:
        """Kill the user's process only: its JVM ends by itself, in its own time."""
        while not self.begun.exists() and self.process.poll() is None:
            time.sleep(0.1)
        self.process.kill()
        self.process.wait()
        assert self.begun.exists(), self._errors.read_text()
        wait_for_end_of_group(self.process.pid)


def left(temporary: Path) -> set[str]:
    return {path.name for path in temporary.iterdir()} - NOT_OURS


@pytest.mark.timeout(250)
def test_a_program_that_fails(temporary: Path, tmp_path: Path) -> None:
    run = Run(temporary, tmp_path, "fail")
    run.ends_with(1)
    assert run.begun.exists()
    assert left(temporary) == set()


@pytest.mark.timeout(250)
def test_a_temporary_folder_with_a_long_path(tmp_path: Path) -> None:
    temporary = tmp_path / ("long" * 20)
    temporary.mkdir()
    Run(temporary, tmp_path, "well").ends_with(0)
    assert left(temporary) == set()


@pytest.mark.timeout(500)
def test_a_program_that_is_killed(temporary: Path, tmp_path: Path) -> None:
    before = temporary_files_of_spark()
    Run(temporary, tmp_path, "wait").kill_when_begun()
    (folder,) = left(temporary)
    assert folder.startswith("penstock-run-")

    Run(temporary, tmp_path, "well").ends_with(0)
    assert left(temporary) == set()
    assert temporary_files_of_spark() <= before


def temporary_files_of_spark() -> set[str]:
    """Files that Spark puts into the system's temporary folder if nobody tells it otherwise."""
    names = os.listdir("/tmp")
    kinds = ("blockmgr-", "spark-", "artifacts-", "librocksdbjni", "liblz4-java")
    return {name for name in names if name.startswith(kinds)}


def wait_for_end_of_group(group: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
