"""Rows that another engine stages: whole batches, each once, also after a restart."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from penstock.common import Row, Types
from penstock.connectors.staged_rows import Stage, StagedRowsSource, Stager
from penstock.core.io import EnumeratorContext, ReadLimit, SplitEnumerator

ROW = Types.ROW_NAMED(["n"], [Types.LONG()])
LIMIT = ReadLimit(1000, 1 << 30)


def write(stage: Stage, number: int, *parts: list[int], last: bool = False) -> None:
    folder = Path(stage.folder_of(number))
    folder.mkdir(parents=True, exist_ok=True)
    for part, numbers in enumerate(parts):
        table = pa.table({"n": pa.array(numbers, pa.int64())})
        parquet.write_table(table, folder / f"part-{part:05}-x.parquet")
    (folder / "_SUCCESS").touch()
    stage.add(number, last=last)


class Steps(Stager):
    """Stages what a test tells it to."""

    stage: Stage

    def start(
        self, stage: Stage, wake: Callable[[], None], fail: Callable[[BaseException], None]
    ) -> None:
        self.stage = stage

    def stop(self) -> None:
        """Have nothing to end."""


class Reading:
    def __init__(self, folder: Path, parallelism: int = 1, restored: Any = None) -> None:
        self.stager = Steps()
        self.source = StagedRowsSource(lambda: self.stager, ROW, bounded=False)
        context = EnumeratorContext(
            uid="uid",
            operator="frame",
            parallelism=parallelism,
            directory=str(folder),
            restored=restored,
            wake=lambda: None,
            fail=lambda error: None,
            now=lambda: 0,
        )
        self.enumerator: SplitEnumerator = self.source.create_enumerator(context)
        self.enumerator.start()
        self.at = restored or self.enumerator.initial()

    def read(self, limit: ReadLimit = LIMIT) -> list[list[Any]]:
        """Return what each subtask reads in the next batch, as plain numbers."""
        end = self.enumerator.latest(self.at, limit)
        planned = self.enumerator.plan(self.at, end)
        self.at = end
        return [
            [row.n for part in ranges for batch in self.source.read(part) for row in batch.values]
            for ranges in planned
        ]


def test_batches_are_read_in_order_and_parts_by_subtask(tmp_path: Path) -> None:
    reading = Reading(tmp_path, parallelism=2)
    assert reading.read() == [[], []]
    write(reading.stager.stage, 0, [1, 2], [3], [4])
    write(reading.stager.stage, 1, [5], [6], last=True)
    assert not reading.at["done"]
    assert reading.read() == [[1, 2, 4, 5], [3, 6]]
    assert reading.at["done"]


def test_a_batch_reads_as_much_as_it_may(tmp_path: Path) -> None:
    reading = Reading(tmp_path)
    write(reading.stager.stage, 0, [1, 2], [3], [4, 5, 6])
    assert reading.read(ReadLimit(3, 1 << 30)) == [[1, 2, 3]]
    # One file is read even if it is too large: there is no smaller piece.
    assert reading.read(ReadLimit(2, 1 << 30)) == [[4, 5, 6]]


def test_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    first = Reading(tmp_path)
    write(first.stager.stage, 0, [1], [2])
    write(first.stager.stage, 1, [3])
    assert first.read(ReadLimit(1, 1 << 30)) == [[1]]
    # A batch that was being written is not there; it is written again.
    (Path(first.stager.stage.folder_of(2))).mkdir()
    second = Reading(tmp_path, parallelism=2, restored=first.at)
    assert second.stager.stage.has(1)
    assert not second.stager.stage.has(2)
    write(second.stager.stage, 2, [4], [5])
    assert second.read() == [[3, 4], [2, 5]]


def test_what_is_read_goes_but_the_newest_batch(tmp_path: Path) -> None:
    reading = Reading(tmp_path)
    stage = reading.stager.stage
    for number in range(3):
        write(stage, number, [number])
    reading.read()
    reading.enumerator.committed(reading.at)
    assert sorted(path.name for path in (tmp_path / "rows").iterdir()) == ["2", "2.json"]
    again = Reading(tmp_path, restored=reading.at)
    assert again.stager.stage.has(2)
    write(again.stager.stage, 3, [3])
    assert again.read() == [[3]]


def test_who_stages_waits_for_who_reads(tmp_path: Path) -> None:
    reading = Reading(tmp_path)
    stage = reading.stager.stage
    for number in range(8):
        write(stage, number, [number])
    answers: list[bool] = []
    waiting = threading.Thread(target=lambda: answers.append(stage.wait_for_room()))
    waiting.start()
    waiting.join(0.2)
    assert not answers
    reading.read()
    reading.enumerator.latest(reading.at, LIMIT)
    waiting.join(30)
    assert answers == [True]
    reading.enumerator.close()
    assert stage.wait_for_room() is False


def test_rows_have_the_declared_names(tmp_path: Path) -> None:
    reading = Reading(tmp_path)
    write(reading.stager.stage, 0, [1])
    end = reading.enumerator.latest(reading.at, LIMIT)
    [[part]] = reading.enumerator.plan(reading.at, end)
    [batch] = reading.source.read(part)
    assert batch.values == [Row(n=1)]
