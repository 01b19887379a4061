from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from penstock.connectors.print_sink import PrintSink
from tests.unit.connectors.driver import committer_of, written


def printed(sink: PrintSink, directory: Path, values: list[list[object]]) -> str:
    """Print one batch, a list of values for each subtask."""
    parallelism = len(values)
    committer = committer_of(sink, directory, parallelism=parallelism)
    committables = []
    for subtask in reversed(range(parallelism)):
        committables += written(sink, values[subtask], subtask=subtask, parallelism=parallelism)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        committer.commit(0, committables)
    return output.getvalue()


@pytest.mark.parametrize(
    ("prefix", "parallelism", "expected"),
    [
        ("out", 2, "out:1> a\nout:1> (1, 'x')\nout:2> b\n"),
        (None, 2, "1> a\n1> (1, 'x')\n2> b\n"),
        ("out", 1, "out> a\nout> (1, 'x')\n"),
        ("", 1, "a\n(1, 'x')\n"),
    ],
)
def test_format(tmp_path: Path, prefix: str | None, parallelism: int, expected: str) -> None:
    values: list[list[object]] = [["a", (1, "x")], ["b"]]
    assert printed(PrintSink(prefix), tmp_path, values[:parallelism]) == expected


def test_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sink = PrintSink("e", stderr=True)
    committer_of(sink, tmp_path).commit(0, written(sink, [1]))
    assert capsys.readouterr() == ("", "e> 1\n")


def test_values_are_formatted_when_they_are_written(tmp_path: Path) -> None:
    value = [1]
    sink = PrintSink()
    committer = committer_of(sink, tmp_path)
    committables = written(sink, [value])
    value.append(2)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        committer.commit(0, committables)
    assert output.getvalue() == "[1]\n"


def test_a_batch_is_printed_once_also_after_a_restart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sink = PrintSink()
    first = committer_of(sink, tmp_path)
    first.commit(0, written(sink, ["a"]))
    first.commit(0, written(sink, ["a"]))
    again = committer_of(sink, tmp_path, restored=True)
    again.commit(0, written(sink, ["a"]))
    again.commit(1, written(sink, ["b"]))
    assert capsys.readouterr().out == "a\nb\n"


def test_a_new_job_in_the_same_folder_prints_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sink = PrintSink()
    for _ in range(2):
        committer_of(sink, tmp_path).commit(0, written(sink, ["a"]))
    assert capsys.readouterr().out == "a\na\n"


def test_a_terminal_that_lacks_a_character(tmp_path: Path) -> None:
    sink = PrintSink()
    committer = committer_of(sink, tmp_path)
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with contextlib.redirect_stdout(output):
        committer.commit(0, written(sink, ["größe", "\ud800"]))
    assert output.buffer.getvalue() == b"gr\\xf6\\xdfe\n\\ud800\n"  # type: ignore[attr-defined]


def test_many_lines_are_one_payload() -> None:
    assert len(written(PrintSink("p"), list(range(10_000)))) == 1
    assert written(PrintSink("p"), []) == []
