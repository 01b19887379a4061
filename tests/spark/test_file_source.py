"""Files as a source on a real Spark: in parallel, as they appear, across the death of the job."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs, parquet

from penstock.common import Row, Types, WatermarkStrategy
from penstock.connectors.file_paths import register_file_system
from penstock.datastream import (
    FileProcessingMode,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.formats.parquet import ParquetColumnarRowInputFormat
from penstock.errors import SourceError
from tests.spark.conftest import MakeEnvironment, RunProgram

WATCHED = Path(__file__).parent / "programs" / "watched_folder.py"


class WithSubtask(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: str) -> tuple[int, str]:
        return self.subtask, value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def text_source(*paths: object) -> FileSource:
    lines = StreamFormat.text_line_format()
    return FileSource.for_record_stream_format(lines, *map(str, paths)).build()


def read(env: StreamExecutionEnvironment, source: FileSource) -> list[object]:
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
    return list(stream.execute_and_collect())


def test_files_are_read_by_both_subtasks_each_line_once(
    env: StreamExecutionEnvironment, folder: Path
) -> None:
    lines = [f"line {number} {'x' * (number % 50)}" for number in range(60_000)]
    (folder / "large.txt").write_text("\n".join(lines))
    (folder / "below").mkdir()
    (folder / "below" / "small.txt").write_text("one\ntwo\n")
    stream = env.from_source(text_source(folder), WatermarkStrategy.no_watermarks(), "files")
    found = list(stream.map(WithSubtask()).execute_and_collect())
    assert Counter(line for _, line in found) == Counter([*lines, "one", "two"])
    shares = Counter(subtask for subtask, _ in found)
    assert min(shares[0], shares[1]) > 15_000


def test_files_that_appear_are_read_while_the_job_runs(
    env: StreamExecutionEnvironment, folder: Path
) -> None:
    (folder / "a.txt").write_text("a1\na2\n")
    lines = StreamFormat.text_line_format()
    watch = FileProcessingMode.PROCESS_CONTINUOUSLY
    stream = env.read_file(lines, str(folder), watch, interval=100)
    with stream.execute_and_collect() as found:
        assert {next(found), next(found)} == {"a1", "a2"}
        for name in "bcd":
            time.sleep(0.5)
            (folder / f".{name}").write_text(f"{name}\n")
            (folder / f".{name}").rename(folder / name)
            assert next(found) == name


def test_parquet(env: StreamExecutionEnvironment, folder: Path) -> None:
    table = pa.table({"id": list(range(5000)), "name": [f"n{i}" for i in range(5000)]})
    parquet.write_table(table, folder / "a.parquet", row_group_size=700)
    row_type = Types.ROW_NAMED(["name", "id"], [Types.STRING(), Types.LONG()])
    source = FileSource.for_bulk_file_format(
        ParquetColumnarRowInputFormat(row_type), str(folder)
    ).build()
    found = read(env, source)
    assert sorted(found, key=lambda row: row.id) == [  # type: ignore[attr-defined]
        Row(name=f"n{i}", id=i) for i in range(5000)
    ]


def test_a_registered_file_system_reaches_the_workers(
    env: StreamExecutionEnvironment, folder: Path
) -> None:
    (folder / "a.txt").write_text("one\ntwo\n")
    register_file_system("lake", fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem()))
    assert sorted(read(env, text_source("lake://a.txt"))) == ["one", "two"]  # type: ignore[type-var]


def test_broken_encoding_is_reported_and_nothing_is_lost_once_it_is_mended(
    make_env: MakeEnvironment, folder: Path, tmp_path: Path
) -> None:
    lines = [f"line {number:04}" for number in range(1000)]
    good = "".join(f"{line}\n" for line in lines).encode()
    (folder / "a.txt").write_bytes(good[:6005] + b"\xff" + good[6006:])

    def run() -> None:
        env = make_env(
            1,
            **{
                "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
                "penstock.batch.max-bytes": "2000",
            },
        )
        stream = env.from_source(text_source(folder), WatermarkStrategy.no_watermarks(), "files")
        stream.write_as_text(str(tmp_path / "out"))
        env.execute("mended")

    with pytest.raises(SourceError) as caught:
        run()
    assert str(caught.value) == (
        "a file is not encoded in utf-8\n"
        f"  where: {folder}/a.txt, line 601, byte 6005\n"
        "  got:   0xff, invalid start byte\n"
        "  to do: name the file's encoding by the charset of the source, or repair the file"
    )
    (folder / "a.txt").write_bytes(good)
    run()
    assert (tmp_path / "out").read_text().splitlines() == lines


@pytest.mark.timeout(600)
def test_a_watched_folder_across_deaths_of_the_job(
    run_program: RunProgram, tmp_path: Path, folder: Path
) -> None:
    chance = random.Random(7)
    numbers = iter(range(10_000))
    expected: dict[str, list[int]] = {"a": [], "b": [], "c": []}

    def add_file() -> None:
        text = ""
        for _ in range(100):
            key, number = chance.choice("abc"), next(numbers)
            expected[key].append(number)
            text += f"{key} {number}\n"
        hidden = folder / ".new"
        hidden.write_text(text)
        hidden.rename(folder / f"{number:06}.txt")

    def output() -> list[list[str]]:
        out = tmp_path / "out"
        files = [out] if out.is_file() else sorted(out.iterdir()) if out.exists() else []
        return [line.split() for file in files for line in file.read_text().splitlines()]

    def wait_for_output(lines: int) -> None:
        deadline = time.monotonic() + 120
        while len(output()) < lines:
            assert time.monotonic() < deadline, f"{len(output())} of {lines} lines"
            time.sleep(0.02)

    for _ in range(3):
        add_file()
        with run_program(WATCHED, tmp_path) as program:
            add_file()
            wait_for_output(len(output()) + chance.randrange(1, 150))
            program.kill()
    with run_program(WATCHED, tmp_path) as program:
        add_file()
        wait_for_output(700)
        time.sleep(1)
        program.kill()
    found = output()
    assert len(found) == 700
    for key, wanted in expected.items():
        seen = [(int(number), int(total)) for k, number, total in found if k == key]
        assert sorted(number for number, _ in seen) == sorted(wanted)
        assert max(total for _, total in seen) == sum(wanted)
