"""However many sources, branches and sinks: one query, and each function called once a record."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.datastream import (
    CoMapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from penstock.spark import attempt

LARGE = OutputTag("large")


def counted(path: Path, function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function write a byte for each of its calls, in whatever process they are made."""
    text = str(path)

    def call(*arguments: Any) -> Any:
        file = os.open(text, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, b".")
        os.close(file)
        return function(*arguments)

    return call


class Split(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value >= 100:
            yield LARGE, value
        else:
            yield value


class Label(CoMapFunction):
    def map1(self, value: int) -> str:
        return f"number {value}"

    def map2(self, value: str) -> str:
        return f"word {value}"


def written(path: Path) -> list[str]:
    files = [path] if path.is_file() else sorted(path.iterdir())
    return sorted(line for file in files for line in file.read_text().splitlines())


def test_two_sources_union_connect_and_three_sinks(
    env: StreamExecutionEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = []
    start = attempt.start_query
    monkeypatch.setattr(attempt, "start_query", lambda *a, **k: queries.append(1) or start(*a, **k))
    calls = {name: tmp_path / name for name in ("double", "total", "upper", "branch")}

    numbers = env.from_collection(list(range(50)))
    more = env.from_collection(list(range(100, 130)))
    words = env.from_collection(["a", "b", "c"]).map(counted(calls["upper"], str.upper))
    doubled = numbers.union(more).map(counted(calls["double"], lambda n: n * 2))
    split = doubled.process(Split())
    large = split.get_side_output(LARGE)
    totals = large.key_by(lambda n: n % 3).reduce(counted(calls["total"], lambda a, b: a + b))
    totals.write_as_text(str(tmp_path / "totals"))
    split.connect(words).map(Label()).write_as_text(str(tmp_path / "labels"))
    large.map(counted(calls["branch"], lambda n: n + 1)).write_as_text(str(tmp_path / "branch-out"))
    env.execute("graph")

    assert len(queries) == 1
    small = [n * 2 for n in range(50)]
    big = [n * 2 for n in range(100, 130)]
    assert written(tmp_path / "labels") == sorted(
        [f"number {n}" for n in small if n < 100] + ["word A", "word B", "word C"]
    )
    assert written(tmp_path / "branch-out") == sorted(str(n + 1) for n in big)
    last = {n % 3: sum(m for m in big if m % 3 == n % 3) for n in big}
    assert set(map(str, last.values())) <= set(written(tmp_path / "totals"))
    sizes = {name: path.stat().st_size for name, path in calls.items()}
    # A reduce is not called for the first value of a key.
    assert sizes == {"double": 80, "upper": 3, "total": len(big) - 3, "branch": len(big)}
