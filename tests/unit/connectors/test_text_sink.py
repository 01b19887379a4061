from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from penstock.common.types import Row
from penstock.connectors import text_sink
from penstock.connectors.csv_sink import csv_sink
from penstock.connectors.text_sink import TextSink, WriteMode
from penstock.core.io import Committer
from penstock.errors import ConfigurationError, SinkError
from tests.unit.connectors.driver import committer_of, written


class Killed(BaseException):
    """The process dies here."""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return tmp_path / "job"


def commit(committer: Committer, batch: int, sink: TextSink, *subtasks: list[Any]) -> None:
    parts = [
        written(sink, values, subtask=i, parallelism=len(subtasks))
        for i, values in enumerate(subtasks)
    ]
    committer.commit(batch, [committable for part in parts for committable in part])


def test_one_subtask_writes_the_file_itself(out: Path, job: Path) -> None:
    sink = TextSink(str(out))
    committer = committer_of(sink, job)
    assert out.read_text() == ""
    commit(committer, 0, sink, ["a", 1, ("größe", 2)])
    assert out.read_text() == "a\n1\n('größe', 2)\n"
    commit(committer, 1, sink, ["b"])
    assert out.read_text() == "a\n1\n('größe', 2)\nb\n"


def test_several_subtasks_write_numbered_files(out: Path, job: Path) -> None:
    sink = TextSink(str(out))
    committer = committer_of(sink, job, parallelism=3)
    commit(committer, 0, sink, ["a"], [], ["c"])
    commit(committer, 1, sink, ["aa"], [], [])
    assert {p.name: p.read_text() for p in out.iterdir()} == {"1": "a\naa\n", "2": "", "3": "c\n"}


def test_folders_above_the_output_are_made(tmp_path: Path, job: Path) -> None:
    committer_of(TextSink(str(tmp_path / "deep" / "er" / "out.txt")), job)
    assert (tmp_path / "deep" / "er" / "out.txt").exists()


def test_output_that_is_there_already(out: Path, job: Path) -> None:
    out.write_text("precious\n")
    with pytest.raises(SinkError) as caught:
        committer_of(TextSink(str(out)), job)
    assert str(caught.value) == (
        "the output is there already\n"
        "  where: sink 'out'\n"
        f"  got:   {out}\n"
        "  to do: remove it, choose another path, or write with WriteMode.OVERWRITE"
    )
    assert out.read_text() == "precious\n"


def test_numbered_output_that_is_there_already(out: Path, job: Path) -> None:
    out.mkdir()
    (out / "2").write_text("precious\n")
    (out / "notes.txt").write_text("mine\n")
    with pytest.raises(SinkError, match="the output is there already"):
        committer_of(TextSink(str(out)), job, parallelism=2)
    (out / "2").unlink()
    committer_of(TextSink(str(out)), job, parallelism=2)
    assert sorted(p.name for p in out.iterdir()) == ["1", "2", "notes.txt"]


def test_overwriting(out: Path, job: Path) -> None:
    out.write_text("old\n")
    sink = TextSink(str(out), WriteMode.OVERWRITE)
    commit(committer_of(sink, job), 0, sink, ["new"])
    assert out.read_text() == "new\n"


def test_overwriting_a_folder_removes_numbered_files_only(out: Path, job: Path) -> None:
    out.mkdir()
    for name in ("1", "4", "notes.txt"):
        (out / name).write_text("old\n")
    sink = TextSink(str(out), "overwrite")
    commit(committer_of(sink, job, parallelism=2), 0, sink, ["a"], ["b"])
    content = {p.name: p.read_text() for p in out.iterdir()}
    assert content == {"1": "a\n", "2": "b\n", "notes.txt": "old\n"}


def test_a_folder_in_the_place_of_the_file_is_not_removed(out: Path, job: Path) -> None:
    out.mkdir()
    with pytest.raises(SinkError, match="the output is a folder"):
        committer_of(TextSink(str(out), WriteMode.OVERWRITE), job)


def test_a_batch_is_written_once(out: Path, job: Path) -> None:
    sink = TextSink(str(out))
    committer = committer_of(sink, job)
    commit(committer, 0, sink, ["a"])
    commit(committer, 0, sink, ["a"])
    again = committer_of(sink, job, restored=True)
    commit(again, 0, sink, ["a"])
    commit(again, 1, sink, ["b"])
    assert out.read_text() == "a\nb\n"


def dying(after: int, real: Callable[..., None]) -> Callable[..., None]:
    """Return `real`, which dies in its call number `after`, half-way if it can."""
    calls = 0

    def wrapped(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > after:
            if isinstance(arguments[-1], bytes):
                real(*arguments[:-1], arguments[-1][:2])
            raise Killed
        real(*arguments)

    return wrapped


@pytest.mark.parametrize(("step", "after"), [("_append", 0), ("_append", 1), ("write", 0)])
def test_killed_inside_a_commit(
    out: Path, job: Path, monkeypatch: pytest.MonkeyPatch, step: str, after: int
) -> None:
    sink = TextSink(str(out))
    first = committer_of(sink, job, parallelism=2)
    commit(first, 0, sink, ["one"], ["two"])
    place = text_sink if step == "_append" else text_sink.Journal
    with monkeypatch.context() as patch:
        patch.setattr(place, step, dying(after, getattr(place, step)))
        with pytest.raises(Killed):
            commit(first, 1, sink, ["three"], ["four"])
    second = committer_of(sink, job, parallelism=2, restored=True)
    commit(second, 1, sink, ["three"], ["four"])
    commit(second, 2, sink, ["five"], [])
    assert (out / "1").read_text() == "one\nthree\nfive\n"
    assert (out / "2").read_text() == "two\nfour\n"


def test_killed_while_the_job_was_starting(
    out: Path, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = TextSink(str(out))
    committer_of(sink, job)
    # Nothing was logged yet: the job starts anew, and the empty file is its own.
    commit(committer_of(sink, job), 0, sink, ["a"])
    assert out.read_text() == "a\n"


def test_a_greater_parallelism_after_a_restart(out: Path, job: Path) -> None:
    sink = TextSink(str(out))
    commit(committer_of(sink, job, parallelism=2), 0, sink, ["a"], ["b"])
    commit(committer_of(sink, job, parallelism=3, restored=True), 1, sink, [], [], ["c"])
    assert {p.name: p.read_text() for p in out.iterdir()} == {"1": "a\n", "2": "b\n", "3": "c\n"}


def test_output_that_somebody_cut(out: Path, job: Path) -> None:
    sink = TextSink(str(out))
    committer = committer_of(sink, job)
    commit(committer, 0, sink, ["abc"])
    out.write_text("a")
    with pytest.raises(SinkError) as caught:
        commit(committer, 1, sink, ["d"])
    assert str(caught.value) == (
        "an output file has become shorter since it was written\n"
        "  where: sink 'out'\n"
        f"  got:   {out}: 1 bytes, 4 were written\n"
        "  to do: leave the output alone while its job is running or can be resumed"
    )


def test_a_path_that_cannot_be_written(tmp_path: Path, job: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError) as caught:
        committer_of(TextSink(str(tmp_path / "file" / "out.txt")), job)
    assert caught.value.what == "a file cannot be written"


def test_an_unknown_write_mode() -> None:
    with pytest.raises(ConfigurationError) as caught:
        TextSink("out.txt", "APPEND")
    assert str(caught.value) == (
        "there is no such write mode\n"
        "  where: file sink\n"
        "  got:   'APPEND'\n"
        "  to do: pass NO_OVERWRITE or OVERWRITE"
    )


def test_own_encoding(out: Path, job: Path) -> None:
    sink = TextSink(str(out), encode=lambda value: bytes([value, value]))
    commit(committer_of(sink, job), 0, sink, [65, 66])
    assert out.read_bytes() == b"AA\nBB\n"


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Order:
    id: int
    city: str | None


def test_csv(out: Path, job: Path) -> None:
    sink = csv_sink(str(out))
    records = [("a", 1, None, 2.5), ["b, c", True], Point(1, 2), Order(7, None), Row(3, "z")]
    commit(committer_of(sink, job), 0, sink, records)
    assert out.read_text() == "a,1,,2.5\nb, c,True\n1,2\n7,\n3,z\n"


def test_csv_with_other_delimiters(out: Path, job: Path) -> None:
    sink = csv_sink(str(out), WriteMode.OVERWRITE, row_delimiter="|\n", field_delimiter=";")
    commit(committer_of(sink, job), 0, sink, [(1, 2), (3, 4)])
    assert out.read_text() == "1;2|\n3;4|\n"


def test_csv_of_something_without_fields() -> None:
    with pytest.raises(SinkError) as caught:
        written(csv_sink("out.csv"), ["word"])
    assert str(caught.value) == (
        "a record without fields cannot be written as CSV\n"
        "  got:   'word'\n"
        "  to do: map the stream to tuples before write_as_csv, or use write_as_text"
    )
