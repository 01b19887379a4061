"""No room, no permission: the error names the file, and when the cause is gone nothing is lost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.unit.connectors.file_sink.sinks import finished, unfinished

PROGRAM = Path(__file__).with_name("full_disk.py")
RECORDS = 20_000  # of ten bytes each
ADVICE = (
    "  to do: check the path, its permissions and the room on the disk; what was written before "
    "is not lost\n"
)


def run(base: Path, folder: Path, how: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), str(base), str(folder), str(RECORDS), how]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def check_complete(base: Path) -> None:
    lines = sorted(line for text in finished(base).values() for line in text.splitlines())
    assert lines == [f"{n:09d}" for n in range(RECORDS)]
    assert unfinished(base) == []


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[str]:
    """Mount a small file system; where that is not allowed, limit the size of files instead."""
    folder.mkdir()
    options = f"size={kilobytes}k"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        yield "limit 4000"
        return
    try:
        yield ""
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(tmp_path: Path) -> None:
    disk, job = tmp_path / "disk", tmp_path / "job"
    job.mkdir()
    with small_disk(disk, 100) as how:
        base = disk / "out"
        failed = run(base, job, how)
        assert failed.returncode == 3, failed.stderr
        what, where, got, todo = failed.stdout.splitlines(keepends=True)
        assert what == "a file cannot be written\n"
        assert where.startswith("  where: operator 'Sink: Unnamed', built at ")
        file = rf"  got:   {re.escape(str(base))}/\.part-0-\d+\.inprogress\.[0-9a-f-]+ "
        assert re.match(file + r"\((No space left on device|File too large)\)\n", got), got
        assert todo == ADVICE
        before = finished(base)
        assert all(text.endswith("\n") for text in before.values())
        if not how:
            subprocess.run(["mount", "-o", "remount,size=10m", str(disk)], check=True)
        done = run(base, job)
        assert done.returncode == 0, done.stdout + done.stderr
        after = finished(base)
        assert {name: after[name] for name in before} == before
        check_complete(base)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def test_a_folder_without_permission(open_folder: Path) -> None:
    base, job = open_folder / "out", open_folder / "job"
    base.mkdir()
    job.mkdir()
    job.chmod(0o777)
    base.chmod(0o555)
    how = "as nobody" if os.geteuid() == 0 else ""
    failed = run(base, job, how)
    assert failed.returncode == 3, failed.stderr
    assert re.search(
        rf"got:   {re.escape(str(base))}/\.part-0-0\.inprogress\.\S+ \(Permission denied\)\n",
        failed.stdout,
    ), failed.stdout
    base.chmod(0o777)
    done = run(base, job, how)
    assert done.returncode == 0, done.stdout + done.stderr
    check_complete(base)


def test_a_base_path_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    failed = run(tmp_path / "file" / "out", tmp_path / "job")
    assert failed.returncode == 3, failed.stderr
    assert failed.stdout == (
        "a file cannot be written\n"
        f"  where: operator 'Sink: Unnamed', built at {PROGRAM}:31\n"
        f"  got:   {tmp_path}/file/out (Not a directory)\n" + ADVICE
    )


def test_the_limit_stands_in_for_a_small_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    test_a_full_disk(tmp_path)
