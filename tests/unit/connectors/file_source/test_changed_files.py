"""What happens to files that grow, shrink, are replaced, cannot be read, or are mended."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from penstock.connectors.file_source import text_lines
from penstock.connectors.file_source.file_format import FilePiece
from penstock.connectors.file_source.source import FileSource
from penstock.connectors.file_source.stream_format import StreamFormat
from penstock.connectors.file_source.text_lines import LineReader
from penstock.core.io import ReadLimit
from penstock.errors import SourceError
from tests.unit.connectors.driver import SourceDriver

LINES = [f"line {number:05}" for number in range(2000)]  # 22,000 bytes
STAY = "the file must stay as it is, and at the same path on every worker, while it is read"
SMALL = ReadLimit(1 << 30, 6000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "a.txt"
    path.parent.mkdir()
    path.write_text("\n".join(LINES) + "\n")
    return path


def reader(path: Path) -> FileSource:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(path)).build()


def driver_of(path: Path, tmp_path: Path, restored: object = None) -> SourceDriver:
    return SourceDriver(reader(path), tmp_path / "job", restored=restored)  # type: ignore[arg-type]


def later(path: Path) -> None:
    """Let the file's time of change be another one, however coarse the clock."""
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 10**9))


def test_a_file_that_grows_is_read_up_to_the_size_it_had(path: Path, tmp_path: Path) -> None:
    path.write_text("\n".join(LINES))  # the last line has no end yet
    driver = driver_of(path, tmp_path)
    driver.batch(SMALL)
    with path.open("a") as file:
        file.write(" and more\nnew\n")
    later(path)
    driver.run(SMALL)
    assert driver.values() == LINES


def test_a_line_is_never_read_beyond_the_size_that_was_noted(path: Path) -> None:
    path.write_bytes(b"one\ntwo and more\n")
    piece = FilePiece(str(path), 0, 7, 7)
    assert list(LineReader().read(piece)) == [["one", "two"]]


def test_a_file_that_is_replaced_while_it_is_read(path: Path, tmp_path: Path) -> None:
    driver = driver_of(path, tmp_path)
    driver.batch(SMALL)
    other = path.with_name(".other")
    other.write_bytes(path.read_bytes())
    other.rename(path)
    with pytest.raises(SourceError) as caught:
        driver.batch(SMALL)
    assert str(caught.value) == (
        "a file has been changed or replaced while it was being read\n"
        f"  where: {path}\n"
        "  got:   it is another file of the same name\n"
        f"  to do: {STAY}"
    )
    # Its content is the same: the job goes on when it is started again.
    restarted = driver_of(path, tmp_path, driver.position)
    restarted.run(SMALL)
    assert driver.values() + restarted.values() == LINES


def test_a_file_that_is_written_over_in_place(path: Path, tmp_path: Path) -> None:
    driver = driver_of(path, tmp_path)
    driver.batch(SMALL)
    with path.open("r+") as file:
        file.seek(21000)
        file.write("X")
    later(path)
    with pytest.raises(SourceError) as caught:
        driver.batch(SMALL)
    assert caught.value.got == "its time of change is another one, its length the same"


def test_a_file_that_is_written_anew_and_longer(path: Path, tmp_path: Path) -> None:
    driver = driver_of(path, tmp_path)
    driver.batch(SMALL)
    path.write_text("other\n" * 5000)
    later(path)
    with pytest.raises(SourceError) as caught:
        driver.batch(SMALL)
    assert caught.value.got == "it is longer, and not the same up to its old length"
    with pytest.raises(SourceError) as caught:
        driver_of(path, tmp_path, driver.position)
    assert str(caught.value) == (
        "a file has been replaced by another before it was read to its end\n"
        f"  where: {path}\n"
        "  got:   30000 bytes, 22000 bytes when it was found\n"
        "  to do: put the file back, or start the job anew in an empty checkpoint folder"
    )


def test_a_change_during_the_reading_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_lines, "_CHUNK", 1000)
    size = path.stat().st_size
    blocks = LineReader().read(FilePiece(str(path), 0, size, size))
    next(blocks)
    later(path)
    with pytest.raises(SourceError) as caught:
        list(blocks)
    assert caught.value.what == "a file has been changed or replaced while it was being read"
    assert caught.value.got == "its time of change is another one"
    blocks = LineReader().read(FilePiece(str(path), 0, size, size))
    next(blocks)
    os.truncate(path, 500)
    with pytest.raises(SourceError) as caught:
        list(blocks)
    assert caught.value.what == "a file has become shorter while it was being read"


def test_broken_encoding_is_mended_and_nothing_is_lost(path: Path, tmp_path: Path) -> None:
    good = path.read_bytes()
    path.write_bytes(good[:15000] + b"\xf6" + good[15001:])
    driver = driver_of(path, tmp_path)
    driver.batch(SMALL)
    driver.batch(SMALL)
    with pytest.raises(SourceError) as caught:
        driver.batch(SMALL)
    assert str(caught.value) == (
        "a file is not encoded in utf-8\n"
        f"  where: {path}, line 1364, byte 15000\n"
        "  got:   0xf6, invalid start byte\n"
        "  to do: name the file's encoding by the charset of the source, or repair the file"
    )
    mended = good[:15000] + "öö".encode() + good[15001:]
    path.unlink()
    path.write_bytes(mended)
    later(path)
    restarted = driver_of(path, tmp_path, driver.position)
    restarted.run(SMALL)
    assert driver.values() + restarted.values() == mended.decode().splitlines()


@pytest.mark.parametrize("end", [b"", b"and some more\n" * 3000])
def test_a_file_of_which_nothing_is_read_may_be_replaced_between_runs(
    path: Path, tmp_path: Path, end: bytes
) -> None:
    first = driver_of(path, tmp_path)
    planned = first.enumerator.latest(first.position, SMALL)
    path.write_bytes(b"another\n" + end)
    later(path)
    restarted = driver_of(path, tmp_path, first.position)
    # The batch that was logged is run as it was planned, with what the file has now.
    restarted.batches.append(restarted.read(first.position, planned))
    restarted.position = planned
    restarted.run(SMALL)
    assert restarted.values() == ["another", *end.decode().splitlines()]


def test_a_corrupt_archive_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    whole = gzip.compress("".join(f"{line}\n" for line in LINES).encode())
    (folder / "a.gz").write_bytes(whole[:1000] + b"corrupt" + whole[1007:])
    driver = driver_of(folder, tmp_path)
    with pytest.raises(SourceError) as caught:
        driver.batch()
    assert caught.value.what == "a file cannot be read"
    assert caught.value.where == f"{folder}/a.gz"
    (folder / "a.gz").write_bytes(whole)
    restarted = driver_of(folder, tmp_path, driver.position)
    restarted.run()
    assert restarted.values() == LINES


def test_a_missing_file_comes_back(path: Path, tmp_path: Path) -> None:
    driver = driver_of(path, tmp_path)
    driver.batch(SMALL)
    path.rename(path.with_name("b.txt"))
    with pytest.raises(SourceError) as caught:
        driver.batch(SMALL)
    assert str(caught.value) == (
        "a file cannot be read\n"
        f"  where: {path}\n"
        f"  got:   FileNotFoundError: [Errno 2] No such file or directory: '{path}'\n"
        f"  to do: {STAY}"
    )
    path.with_name("b.txt").rename(path)
    driver.run(SMALL)
    assert driver.values() == LINES


# Root may read everything, so a root becomes somebody else, once all modules are loaded.
AS_NOBODY = """
import os, sys
from pathlib import Path
from penstock.connectors.text_file import TextFileSource
from penstock.errors import SourceError
from tests.unit.connectors.driver import SourceDriver
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    SourceDriver(TextFileSource(sys.argv[1]), Path(sys.argv[2]))
except SourceError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_no_permission(kind: str) -> None:
    # Not below pytest's own folder, into which nobody else may look.
    with tempfile.TemporaryDirectory() as base:
        os.chmod(base, 0o777)
        folder = Path(base) / "in"
        folder.mkdir()
        (folder / "a.txt").write_text("a\n")
        locked = folder if kind == "folder" else folder / "a.txt"
        locked.chmod(0o000)
        shown = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(folder), f"{base}/job"],
            capture_output=True,
            text=True,
        )
        locked.chmod(0o755)
    assert shown.stdout == (
        "a path cannot be read\n"
        "  where: source 'numbers'\n"
        f"  got:   {locked} (Permission denied)\n"
        "  to do: check that the path may be read by this user\n"
    ), shown.stderr
