from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from penstock.connectors.file_source import dealing, text_lines
from penstock.connectors.file_source.dealing import deal
from penstock.connectors.file_source.discovery import FoundFile
from penstock.connectors.file_source.file_format import FilePiece
from penstock.connectors.file_source.text_lines import LineReader
from penstock.connectors.file_stores import FileStatus
from penstock.connectors.text_file import TextFileSource
from penstock.core.io import ReadLimit
from penstock.errors import ConfigurationError, SourceError
from tests.unit.connectors.driver import SourceDriver

LINES = [f"line {number} " + "x" * (number % 23) for number in range(2000)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "input"
    path.mkdir()
    return path


def write(path: Path, lines: list[str], end: str = "\n") -> Path:
    path.write_bytes(end.join([*lines, ""]).encode())
    return path


def read(
    path: object, job: Path, limit: ReadLimit | None = None, parallelism: int = 1
) -> list[str]:
    source = TextFileSource(str(path))
    driver = SourceDriver(source, job, parallelism=parallelism)
    driver.run(*(() if limit is None else (limit,)))
    return driver.values()


def test_a_file(folder: Path, tmp_path: Path) -> None:
    write(folder / "a.txt", LINES)
    assert read(folder / "a.txt", tmp_path / "job") == LINES


def test_a_file_uri(folder: Path, tmp_path: Path) -> None:
    write(folder / "a b.txt", ["x"])
    assert read(f"file://{folder}/a%20b.txt", tmp_path / "job") == ["x"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        ("naïve 東京\n".encode(), ["naïve 東京"]),
    ],
)
def test_what_a_line_is(folder: Path, tmp_path: Path, content: bytes, expected: list[str]) -> None:
    (folder / "a.txt").write_bytes(content)
    assert read(folder / "a.txt", tmp_path / "job") == expected


def test_a_folder_gives_its_own_files_but_no_hidden_ones(folder: Path, tmp_path: Path) -> None:
    write(folder / "b.txt", ["b"])
    write(folder / "a.txt", ["a"])
    write(folder / ".hidden", ["x"])
    write(folder / "_SUCCESS", ["x"])
    (folder / "deeper").mkdir()
    write(folder / "deeper" / "c.txt", ["x"])
    assert read(folder, tmp_path / "job") == ["a", "b"]


def test_patterns(folder: Path, tmp_path: Path) -> None:
    (folder / "day=1").mkdir()
    (folder / "day=2").mkdir()
    write(folder / "day=1" / "a.txt", ["1a"])
    write(folder / "day=2" / "a.txt", ["2a"])
    write(folder / "day=2" / "b.log", ["2b"])
    assert read(folder / "*" / "*.txt", tmp_path / "job-1") == ["1a", "2a"]
    assert read(folder / "day=[2]", tmp_path / "job-2") == ["2a", "2b"]
    assert read(folder / "**" / "*.log", tmp_path / "job-3") == ["2b"]


def test_an_empty_folder_ends_at_once(folder: Path, tmp_path: Path) -> None:
    driver = SourceDriver(TextFileSource(str(folder)), tmp_path / "job", parallelism=2)
    assert driver.position["done"]


def test_a_name_that_looks_like_a_pattern_is_taken_as_it_is(folder: Path, tmp_path: Path) -> None:
    write(folder / "a[1].txt", ["x"])
    write(folder / "a1.txt", ["y"])
    assert read(folder / "a[1].txt", tmp_path / "job") == ["x"]


@pytest.mark.parametrize("max_bytes", [1, 10, 100, 1 << 20])
def test_every_line_comes_once_wherever_batches_are_cut(
    folder: Path, tmp_path: Path, max_bytes: int
) -> None:
    lines = [*LINES[:60], "", "y" * 300, ""]
    write(folder / "a.txt", lines)
    size = (folder / "a.txt").stat().st_size
    driver = SourceDriver(TextFileSource(str(folder)), tmp_path / "job")
    driver.run(ReadLimit(1 << 30, max_bytes))
    assert driver.values() == lines
    assert len(driver.batches) == -(-size // max_bytes)


def test_parts_of_files_are_dealt_to_the_subtasks(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealing, "_SMALLEST_PART", 100)
    write(folder / "a.txt", LINES)
    write(folder / "b.txt", LINES[:50])
    driver = SourceDriver(TextFileSource(str(folder)), tmp_path / "job", parallelism=3)
    driver.run(ReadLimit(1 << 30, 9000))
    assert sorted(driver.values()) == sorted(LINES + LINES[:50])
    assert all(len(driver.values(subtask)) > 400 for subtask in range(3))


def test_a_small_file_is_not_cut_up(folder: Path, tmp_path: Path) -> None:
    write(folder / "a.txt", ["a", "b"])
    driver = SourceDriver(TextFileSource(str(folder)), tmp_path / "job", parallelism=2)
    assert [e["done"] for e in driver.position["splits"].values()] == [False, True]
    driver.run()
    assert driver.values(0) == ["a", "b"]


def test_dealing_levels_the_load() -> None:
    sizes = [50, 10, 10, 10, 30]
    files = [FoundFile(FileStatus(str(i), size, 0, 0), 0, 0) for i, size in enumerate(sizes)]
    dealt = deal(files, [0, 5], divisible=lambda path: True, splittable=True)
    lanes = {known.path: [lane for lane, _, _ in parts] for known, parts in dealt}
    assert lanes == {"0": [0], "1": [1], "2": [1], "3": [1], "4": [1]}


def test_a_batch_is_bounded_by_records_as_far_as_can_be_guessed(
    folder: Path, tmp_path: Path
) -> None:
    write(folder / "a.txt", ["abcdefghi"] * 1000)
    driver = SourceDriver(TextFileSource(str(folder)), tmp_path / "job")
    driver.run(ReadLimit(100, 1 << 30))
    assert len(driver.batches) == 10
    assert len(driver.values()) == 1000


def test_lines_come_in_chunks(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_lines, "_CHUNK", 1000)
    write(folder / "a.txt", LINES)
    driver = SourceDriver(TextFileSource(str(folder)), tmp_path / "job")
    driver.run()
    assert driver.values() == LINES
    (chunks,) = driver.batches[0]
    assert max(len(chunk.values) for chunk in chunks) < 100


@pytest.mark.parametrize(
    ("suffix", "opener"), [(".gz", gzip.open), (".bz2", bz2.open), (".xz", lzma.open)]
)
def test_compressed_files_are_read_as_a_whole(
    folder: Path, tmp_path: Path, suffix: str, opener: object
) -> None:
    path = folder / f"a.txt{suffix}"
    with opener(path, "wb") as file:  # type: ignore[operator]
        file.write("\n".join(LINES).encode())
    write(folder / "b.txt", ["last"])
    driver = SourceDriver(TextFileSource(str(folder)), tmp_path / "job")
    driver.run(ReadLimit(1 << 30, 1))
    assert driver.values() == [*LINES, "last"]
    assert len(driver.batches) == 1 + len("last\n")


@pytest.mark.parametrize(
    ("charset", "lines"),
    [
        ("utf-16", ["größe", "東京" * 40]),
        ("GBK", ["数据", "流" * 50]),
        ("iso-8859-15", ["größe €", "été"]),
    ],
)
def test_other_encodings(folder: Path, tmp_path: Path, charset: str, lines: list[str]) -> None:
    (folder / "a.txt").write_bytes("\r\n".join(lines).encode(charset))
    driver = SourceDriver(TextFileSource(str(folder), charset), tmp_path / "job")
    driver.run(ReadLimit(1 << 30, 5))
    assert driver.values() == lines


def test_after_a_restart_the_same_files_are_read(folder: Path, tmp_path: Path) -> None:
    write(folder / "b.txt", LINES[:100])
    source = TextFileSource(str(folder))
    first = SourceDriver(source, tmp_path / "job", parallelism=2)
    initial = first.position
    first.batch(ReadLimit(1 << 30, 500))
    write(folder / "a.txt", ["new"])
    with open(folder / "b.txt", "a") as file:
        file.write("more\n")
    second = SourceDriver(source, tmp_path / "job", parallelism=2, restored=first.position)
    assert second.read(initial, first.position) == first.batches[0]
    second.run(ReadLimit(1 << 30, 500))
    assert first.values() + second.values() == LINES[:100]


def test_another_parallelism_after_a_restart_loses_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealing, "_SMALLEST_PART", 1000)
    write(folder / "a.txt", LINES)
    source = TextFileSource(str(folder))
    first = SourceDriver(source, tmp_path / "job", parallelism=4)
    first.batch(ReadLimit(1 << 30, 5000))
    second = SourceDriver(source, tmp_path / "job", parallelism=2, restored=first.position)
    second.run()
    assert sorted(first.values() + second.values()) == sorted(LINES)


def test_a_missing_path(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        read(folder / "words.txt", tmp_path / "job")
    assert str(caught.value) == (
        "there is no such file or folder, and no file that matches it as a pattern\n"
        "  where: source 'numbers'\n"
        f"  got:   {folder}/words.txt\n"
        "  to do: check the path; it must exist on this machine and on every worker"
    )


def test_a_wrong_encoding_is_reported_with_file_line_and_byte(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_lines, "_CHUNK", 8)
    (folder / "a.txt").write_bytes(b"first\nsecond\ngr\xf6\xdfe\n")
    with pytest.raises(SourceError) as caught:
        read(folder / "a.txt", tmp_path / "job")
    assert str(caught.value) == (
        "a file is not encoded in utf-8\n"
        f"  where: {folder}/a.txt, line 3, byte 15\n"
        "  got:   0xf6, invalid start byte\n"
        "  to do: name the file's encoding by the charset of the source, or repair the file"
    )


@pytest.mark.parametrize("chunk", [2, 5, 1000])
def test_a_wrong_wide_encoding(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(text_lines, "_CHUNK", chunk)
    path = folder / "a.txt"
    path.write_bytes("a\nbc\nd".encode("utf-16-le") + b"\x00\xdcx\x00")
    with pytest.raises(SourceError) as caught:
        list(LineReader("utf-16-le").read(FilePiece(str(path), 0, 14, 16)))
    assert str(caught.value) == (
        "a file is not encoded in utf-16-le\n"
        f"  where: {path}, line 3, byte 12\n"
        "  got:   0x00dc, illegal encoding\n"
        "  to do: name the file's encoding by the charset of the source, or repair the file"
    )


def test_a_file_that_shrinks_or_goes_away(folder: Path, tmp_path: Path) -> None:
    path = write(folder / "a.txt", LINES)
    size = path.stat().st_size
    driver = SourceDriver(TextFileSource(str(path)), tmp_path / "job")
    path.write_text("short\n")
    with pytest.raises(SourceError) as caught:
        driver.batch()
    assert str(caught.value) == (
        "a file has become shorter while it was being read\n"
        f"  where: {path}\n"
        f"  got:   6 bytes, {size} bytes when it was found\n"
        "  to do: the file must stay as it is, and at the same path on every worker, "
        "while it is read"
    )
    path.unlink()
    with pytest.raises(SourceError, match="a file cannot be read"):
        driver.batch()


def test_a_broken_archive(folder: Path, tmp_path: Path) -> None:
    (folder / "a.gz").write_bytes(gzip.compress(b"hello\n" * 1000)[:-10])
    with pytest.raises(SourceError) as caught:
        read(folder / "a.gz", tmp_path / "job")
    assert caught.value.where == f"{folder}/a.gz"
    assert caught.value.got is not None
    assert caught.value.got.startswith("EOFError: ")


def test_an_unknown_encoding() -> None:
    with pytest.raises(ConfigurationError) as caught:
        TextFileSource("words.txt", "utf-99")
    assert str(caught.value) == (
        "there is no such character encoding\n"
        "  where: charset of a text file\n"
        "  got:   'utf-99'\n"
        "  to do: pass a name that Python knows, for instance UTF-8, ISO-8859-1 or GBK"
    )
