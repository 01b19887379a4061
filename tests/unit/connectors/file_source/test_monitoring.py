"""New files are found while the source runs, each is read once, and the position stays small."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from penstock.common import Duration
from penstock.connectors.file_source import dealing
from penstock.connectors.file_source.source import FileEnumeratorProvider, FileSource
from penstock.connectors.file_source.stream_format import StreamFormat
from penstock.core.io import ReadLimit
from penstock.errors import ConfigurationError, SourceError
from tests.unit.connectors.driver import SourceDriver


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def watching(*paths: object, interval: int = 1000) -> FileSource:
    lines = StreamFormat.text_line_format()
    builder = FileSource.for_record_stream_format(lines, *map(str, paths))
    return builder.monitor_continuously(Duration.of_millis(interval)).build()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_watched_source_does_not_end(folder: Path, tmp_path: Path, clock: Clock) -> None:
    source = watching(folder)
    assert (source.bounded, source.fixed_splits) == (False, False)
    driver = SourceDriver(source, tmp_path / "job", clock=clock)
    assert not driver.batch()
    assert not driver.position["done"]
    assert not any(entry["done"] for entry in driver.position["splits"].values())


def test_files_that_appear_are_read_at_the_next_look(
    folder: Path, tmp_path: Path, clock: Clock
) -> None:
    (folder / "a.txt").write_text("a1\na2\n")
    driver = SourceDriver(watching(folder), tmp_path / "job", clock=clock)
    assert driver.batch()
    (folder / "b.txt").write_text("b1\n")
    (folder / "below").mkdir()
    (folder / "below" / "c.txt").write_text("c1\n")
    clock.now = 999
    assert not driver.batch()
    assert driver.enumerator.next_wakeup() == 1000
    clock.now = 1000
    assert driver.batch()
    assert driver.values() == ["a1", "a2", "b1", "c1"]
    clock.now = 5000
    assert not driver.batch()
    assert driver.enumerator.next_wakeup() == 6000


def test_hidden_and_empty_files_wait_until_they_are_neither(
    folder: Path, tmp_path: Path, clock: Clock
) -> None:
    (folder / "empty.txt").touch()
    (folder / ".moving.txt").write_text("moved\n")
    (folder / "_temporary").mkdir()
    (folder / "_temporary" / "x").write_text("never\n")
    driver = SourceDriver(watching(folder), tmp_path / "job", clock=clock)
    assert not driver.batch()
    (folder / "empty.txt").write_text("filled\n")
    (folder / ".moving.txt").rename(folder / "moving.txt")
    clock.now = 1000
    driver.batch()
    assert driver.values() == ["filled", "moved"]


def test_a_file_is_read_once_even_if_it_grows_or_is_replaced_afterwards(
    folder: Path, tmp_path: Path, clock: Clock
) -> None:
    path = folder / "a.txt"
    path.write_text("one\n")
    driver = SourceDriver(watching(folder), tmp_path / "job", clock=clock)
    driver.batch()
    with path.open("a") as file:
        file.write("two\n")
    clock.now = 1000
    assert not driver.batch()
    path.unlink()
    clock.now = 2000
    assert not driver.batch()
    path.write_text("three\n")
    clock.now = 3000
    assert not driver.batch()
    assert driver.values() == ["one"]


def test_the_position_stays_small_however_many_files_there_were(
    folder: Path, tmp_path: Path, clock: Clock
) -> None:
    driver = SourceDriver(watching(folder), tmp_path / "job", parallelism=2, clock=clock)
    sizes = []
    for number in range(1, 201):
        (folder / f"{number:04}.txt").write_text(f"{number}\n")
        clock.now += 1000
        assert driver.batch()
        driver.commit()
        sizes.append(len(json.dumps(driver.position)))
    assert sorted(map(int, driver.values())) == list(range(1, 201))
    assert max(sizes) < 150
    assert [entry["subtask"] for entry in driver.position["splits"].values()] == [0, 1]
    lanes = driver.enumerator._log.lanes  # type: ignore[attr-defined]
    assert sum(len(list(lane.after(0))) for lane in lanes) == 0


def test_new_files_go_to_the_subtask_that_has_least_to_read(
    folder: Path, tmp_path: Path, clock: Clock
) -> None:
    (folder / "a.txt").write_text("a\n" * 1000)
    driver = SourceDriver(watching(folder), tmp_path / "job", parallelism=2, clock=clock)
    driver.batch(ReadLimit(1 << 30, 100))
    for name in "bcd":
        (folder / f"{name}.txt").write_text(f"{name}\n")
    clock.now = 1000
    driver.run(until=lambda: len(driver.values()) == 1003)
    assert driver.values(1) == ["b", "c", "d"]


def test_after_a_restart_nothing_is_read_again_and_nothing_is_left_out(
    folder: Path, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealing, "_SMALLEST_PART", 500)
    lines = [f"line {number}" for number in range(500)]
    (folder / "a.txt").write_text("\n".join(lines[:300]) + "\n")
    first = SourceDriver(watching(folder), tmp_path / "job", parallelism=2, clock=clock)
    for _ in range(3):
        first.batch(ReadLimit(1 << 30, 300))
    begun = first.position
    (folder / "b.txt").write_text("\n".join(lines[300:]) + "\n")
    clock.now = 1000
    end = first.enumerator.latest(begun, ReadLimit(1 << 30, 400))
    planned = first.enumerator.plan(begun, end)
    # The process dies; the batch was planned and logged, and is planned again.
    second = SourceDriver(
        watching(folder), tmp_path / "job", parallelism=2, clock=clock, restored=begun
    )
    assert second.enumerator.plan(begun, json.loads(json.dumps(end))) == planned
    second.run(until=lambda: len(first.values()) + len(second.values()) == 500)
    assert sorted(first.values() + second.values()) == sorted(lines)
    clock.now = 9000
    assert not second.batch()


def test_a_line_of_the_log_that_was_half_written_does_not_count(
    folder: Path, tmp_path: Path, clock: Clock
) -> None:
    (folder / "a.txt").write_text("a\n")
    first = SourceDriver(watching(folder), tmp_path / "job", clock=clock)
    first.batch()
    (log,) = (tmp_path / "job").rglob("files.jsonl")
    with log.open("ab") as file:
        file.write(b'{"files": [[["/x/b.txt", 3')
    (folder / "b.txt").write_text("b\n")
    second = SourceDriver(watching(folder), tmp_path / "job", clock=clock, restored=first.position)
    second.batch()
    assert second.values() == ["b"]
    assert all(json.loads(line) for line in log.read_text().splitlines())


def test_a_pattern_may_match_nothing_at_first(folder: Path, tmp_path: Path, clock: Clock) -> None:
    driver = SourceDriver(watching(folder / "*" / "*.log"), tmp_path / "job", clock=clock)
    assert not driver.batch()
    (folder / "day").mkdir()
    (folder / "day" / "x.log").write_text("x\n")
    (folder / "day" / "x.txt").write_text("y\n")
    clock.now = 1000
    driver.batch()
    assert driver.values() == ["x"]


def test_a_watched_folder_must_be_there(tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(SourceError) as caught:
        SourceDriver(watching(tmp_path / "nowhere"), tmp_path / "job", clock=clock)
    assert caught.value.got == f"{tmp_path}/nowhere"


def test_a_watched_folder_that_goes_away_fails_the_job(
    folder: Path, tmp_path: Path, clock: Clock
) -> None:
    driver = SourceDriver(watching(folder), tmp_path / "job", clock=clock)
    folder.rmdir()
    clock.now = 1000
    with pytest.raises(SourceError, match="there is no such file or folder"):
        driver.batch()
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    restarted = SourceDriver(
        watching(folder), tmp_path / "job", clock=clock, restored=driver.position
    )
    restarted.batch()
    assert restarted.values() == ["a"]


def test_several_paths_that_name_the_same_file(folder: Path, tmp_path: Path, clock: Clock) -> None:
    (folder / "a.txt").write_text("a\n")
    source = watching(folder, folder / "a.txt", folder / "*.txt")
    driver = SourceDriver(source, tmp_path / "job", clock=clock)
    driver.batch()
    clock.now = 1000
    assert not driver.batch()
    assert driver.values() == ["a"]


def test_a_file_that_is_not_to_be_split_stays_with_one_subtask(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealing, "_SMALLEST_PART", 100)
    lines = [f"line {number}" for number in range(500)]
    (folder / "a.txt").write_text("\n".join(lines))
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
    whole = FileEnumeratorProvider.default_non_splittable_file_enumerator()
    driver = SourceDriver(
        builder.set_file_enumerator(whole).build(), tmp_path / "job", parallelism=3
    )
    driver.run(ReadLimit(1 << 30, 700))
    assert driver.values(0) == lines
    assert len(driver.batches) > 2


def test_looking_does_not_look_at_known_files_again(
    folder: Path, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        (folder / f"{number}.txt").write_text("x\n")
    driver = SourceDriver(watching(folder), tmp_path / "job", clock=clock)
    driver.batch()
    opened = []
    real = os.stat
    monkeypatch.setattr(os, "stat", lambda path, **kw: opened.append(path) or real(path, **kw))
    clock.now = 1000
    assert not driver.batch()
    assert len(opened) < 10


def test_an_interval_of_nothing() -> None:
    with pytest.raises(ConfigurationError) as caught:
        watching("in", interval=0)
    assert str(caught.value) == (
        "the interval between two looks for new files must be above zero\n"
        "  where: monitor_continuously()\n"
        "  got:   0 ms"
    )


def test_no_path_and_no_format() -> None:
    with pytest.raises(ConfigurationError) as caught:
        FileSource.for_record_stream_format(StreamFormat.text_line_format())
    assert str(caught.value) == (
        "a file source needs a path\n"
        "  where: FileSource\n"
        "  to do: pass files, folders or patterns behind the format"
    )
    with pytest.raises(ConfigurationError) as caught:
        FileSource.for_record_stream_format("words.txt")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "a file source needs a format\n"
        "  where: FileSource\n"
        "  got:   'words.txt'\n"
        "  to do: pass StreamFormat.text_line_format() or another format, then the paths"
    )
