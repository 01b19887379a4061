"""Paths and URLs: the machine's own files, and file systems of pyarrow's."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import fs

from penstock.common import Duration
from penstock.connectors.file_paths import (
    absolute,
    join,
    local_path,
    register_file_system,
    store_of,
)
from penstock.connectors.file_source.source import FileSource
from penstock.connectors.file_source.stream_format import StreamFormat
from penstock.connectors.file_stores import FileStore
from penstock.core.io import ReadLimit
from penstock.errors import ConfigurationError, SourceError
from tests.unit.connectors.driver import SourceDriver


@pytest.fixture(params=["local", "sub", "mem"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a folder: by path, by URL on a part of the disk, by URL in memory."""
    (tmp_path / "sub").mkdir()
    register_file_system("sub", fs.SubTreeFileSystem(str(tmp_path / "sub"), fs.LocalFileSystem()))
    register_file_system("mem", fs._MockFileSystem())
    return f"{tmp_path}/work" if request.param == "local" else f"{request.param}://work"


def write(store: FileStore, path: str, data: bytes) -> None:
    with store.open_output(path) as file:
        file.write(data)


def test_what_can_be_done_with_files(place: str) -> None:
    store = store_of(place)
    assert not store.exists(place)
    path = join(place, "a", "b.txt")
    write(store, path, b"hello")
    assert store.exists(path) and store.size(path) == 5
    assert store.is_folder(place) and not store.is_folder(path)
    with store.open_input(path) as file:
        file.seek(1)
        assert file.readline() == b"ello"
    store.rename(path, join(place, "c", "d.txt"))
    write(store, path, b"new")
    store.rename(path, join(place, "c", "d.txt"))
    assert not store.exists(path)
    assert store.size(join(place, "c", "d.txt")) == 3
    store.delete(join(place, "c", "d.txt"))
    store.delete(join(place, "c", "d.txt"))
    assert store.list_files(place, recursive=True) == []
    with pytest.raises(FileNotFoundError):
        store.status(path)
    with pytest.raises(OSError, match="folder"):
        store.size(place)


def test_listing_and_matching(place: str) -> None:
    store = store_of(place)
    names = ["b.txt", "a.log", ".hidden", "_SUCCESS", "x/c.txt", "x/_y/d.txt", "x/z/e.txt"]
    for name in names:
        write(store, join(place, name), name.encode())

    def listed(**options: bool) -> list[str]:
        found = store.list_files(place, **options)  # type: ignore[arg-type]
        assert all(status.size == len(status.path) - len(place) - 1 for status in found)
        return [status.path[len(place) + 1 :] for status in found]

    assert listed(recursive=False) == ["a.log", "b.txt"]
    assert listed(recursive=True) == ["a.log", "b.txt", "x/c.txt", "x/z/e.txt"]
    assert sorted(listed(recursive=True, hidden=True)) == sorted(names)
    skipped = store.list_files(place, recursive=False, skip={join(place, "a.log")})
    assert [status.path for status in skipped] == [join(place, "b.txt")]

    def matched(pattern: str) -> list[str]:
        return [path[len(place) + 1 :] for path in store.match(join(place, pattern))]

    assert matched("*.txt") == ["b.txt"]
    assert matched("x/?.txt") == ["x/c.txt"]
    assert matched("**/[ce].txt") == ["x/c.txt", "x/z/e.txt"]
    assert matched("x*") == ["x"]
    assert matched("*.csv") == []


def test_appending(place: str) -> None:
    store = store_of(place)
    path = join(place, "a.txt")
    write(store, path, b"hello world")
    if not store.can_append:
        with pytest.raises(OSError, match="cannot be appended to"):
            store.open_append(path, 5)
        return
    with store.open_append(path, 5) as file:
        file.write(b"!")
    with store.open_input(path) as file:
        assert file.read() == b"hello!"


def test_a_source_reads_from_any_of_them(place: str, tmp_path: Path) -> None:
    store = store_of(place)
    write(store, join(place, "a.txt"), b"a1\na2\na3\n")
    lines = StreamFormat.text_line_format()
    builder = FileSource.for_record_stream_format(lines, place, join(place, "*", "*.log"))
    source = builder.monitor_continuously(Duration.of_millis(10)).build()
    now = [0]
    if place.startswith("mem:"):
        # Its memory stays in this process, as nothing in a store of this kind can be sent.
        source.__dict__["_file_systems"] = {}
    driver = SourceDriver(source, tmp_path / "job", clock=lambda: now[0])
    driver.batch(ReadLimit(1 << 30, 4))
    write(store, join(place, "x", "b.log"), b"b1\n")
    now[0] = 10
    driver.run(until=lambda: len(driver.values()) == 4)
    assert driver.values() == ["a1", "a2", "a3", "b1"]


def test_paths_as_they_may_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("a/../b.txt") == f"{tmp_path}/b.txt"
    assert absolute("file:/data/x") == "/data/x"
    assert absolute("file://localhost/data/x%20y") == "/data/x y"
    assert absolute("a:b.txt") == f"{tmp_path}/a:b.txt"
    assert absolute("s3://bucket/x y") == "s3://bucket/x y"
    assert absolute(tmp_path) == str(tmp_path)
    with pytest.raises(ConfigurationError) as caught:
        absolute("file://other/data")
    assert str(caught.value) == (
        "a file: URL names another machine\n"
        "  got:   file://other/data\n"
        "  to do: write file:///path, for a path that is mounted on every worker"
    )


def test_a_path_that_must_be_local() -> None:
    assert local_path("file:///data/x", "here") == "/data/x"
    with pytest.raises(SourceError) as caught:
        local_path("hdfs://namenode/words.txt", "here")
    assert str(caught.value) == (
        "files can only be read from a mounted file system, not from hdfs://\n"
        "  where: here\n"
        "  got:   hdfs://namenode/words.txt\n"
        "  to do: mount the file system on every worker and pass the path"
    )


def test_a_file_system_that_nobody_knows() -> None:
    with pytest.raises(ConfigurationError) as caught:
        store_of("nowhere://host/a.txt")
    assert str(caught.value) == (
        "a file system cannot be reached\n"
        "  got:   nowhere://host (Unrecognized filesystem type in URI: nowhere://host/)\n"
        "  to do: pass a path, a URL that pyarrow.fs can connect to, or register_file_system()"
    )
