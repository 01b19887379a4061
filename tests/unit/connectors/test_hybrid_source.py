"""Sources one after another: each record once, wherever the job is stopped and begun again."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Duration, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.hybrid_source import HybridSource
from penstock.core.io import EnumeratorContext, Position, Source, SplitEnumerator
from penstock.datastream import ProcessFunction
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.errors import ProgramError, SourceError
from penstock.testing.local_executor import LocalJob
from tests.unit.process.jobs import plan_of, run


def files(folder: Path, *names: str) -> FileSource:
    """Return a source of lines `name-0` to `name-9`, a file for each name."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("".join(f"{name}-{n}\n" for n in range(10)))
    lines = StreamFormat.text_line_format()
    return FileSource.for_record_stream_format(lines, str(folder)).build()


def lines_of(*names: str) -> list[str]:
    return [f"{name}-{n}" for name in names for n in range(10)]


def chain(folder: Path) -> HybridSource:
    first, second = files(folder / "one", "a", "b"), files(folder / "two", "c")
    return HybridSource.builder(first).add_source(second).add_source(Numbers(30, 34)).build()


class Numbers(NumberSequenceSource):
    """Numbers, and a list of how often somebody has asked where they begin."""

    def __init__(self, start: int, end: int, asked: list[int] | None = None) -> None:
        super().__init__(start, end)
        self.asked = [] if asked is None else asked

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        enumerator = super().create_enumerator(context)
        initial = enumerator.initial

        def noted() -> Position:
            self.asked.append(1)
            return initial()

        enumerator.initial = noted  # type: ignore[method-assign]
        return enumerator


def stream(source: Source) -> Callable[[Any], Any]:
    return lambda env: env.from_source(source, WatermarkStrategy.no_watermarks(), "chain")


@pytest.mark.parametrize("cuts", [None, 1, 3])
@pytest.mark.parametrize("parallelism", [1, 2])
def test_one_source_after_another(tmp_path: Path, cuts: int | None, parallelism: int) -> None:
    found = run(stream(chain(tmp_path)), parallelism, cuts)
    # Across sources there is an order, whatever the parallelism.
    assert sorted(found[:20]) == lines_of("a", "b")
    assert sorted(found[20:30]) == lines_of("c")
    assert sorted(found[30:]) == [30, 31, 32, 33, 34]


def test_the_next_source_is_asked_when_its_turn_comes(tmp_path: Path) -> None:
    asked: list[int] = []
    numbers = Numbers(1, 3, asked)
    source = HybridSource.builder(files(tmp_path / "one", "a")).add_source(numbers).build()
    plan, sink = plan_of(stream(source))
    job = LocalJob(plan, tmp_path / "job", cuts=4)
    job.step()
    assert not asked
    job.run()
    assert asked == [1]
    assert sink.values() == [*lines_of("a"), 1, 2, 3]


ALL = sorted([*lines_of("a", "b", "c"), *map(str, range(30, 35))])


@pytest.mark.parametrize("steps", range(12))
def test_a_job_that_is_killed_goes_on_where_it_was(tmp_path: Path, steps: int) -> None:
    plan, sink = plan_of(stream(chain(tmp_path)))
    killed = LocalJob(plan, tmp_path / "job", cuts=5)
    for _ in range(steps):
        killed.step()
    if killed.ask():  # planned, and never run
        killed.attempt("a")
    again = LocalJob(plan, tmp_path / "job", cuts=5)
    again.run()
    killed.close()
    assert sorted(map(str, sink.values())) == ALL


def source_of(job: LocalJob, folder: Path) -> int:
    """Return the number of the source that a job has come to."""
    logged = (folder / "engine" / "offsets" / f"{job.batch_id - 1}").read_text()
    [position] = json.loads(logged)["sources"].values()
    return int(position["source"])


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_savepoint_in_each_of_the_sources(tmp_path: Path, number: int, parallelism: int) -> None:
    plan, before = plan_of(stream(chain(tmp_path)), 2)
    job = LocalJob(plan, tmp_path / "job", cuts=2)
    job.step()
    while source_of(job, tmp_path / "job") < number:
        job.step()
    savepoint = job.savepoint(tmp_path / "savepoints", stop=True)
    job.close()
    plan, after = plan_of(stream(chain(tmp_path)), parallelism)
    LocalJob(plan, tmp_path / "again", cuts=2, restore=savepoint).run()
    assert after.values()
    assert sorted(map(str, [*before.values(), *after.values()])) == ALL


class Time(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class Clock(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[int, int]]:
        yield int(value), ctx.timer_service().current_watermark()


def test_watermarks_go_on_with_the_next_source() -> None:
    source = HybridSource.builder(Numbers(1, 4)).add_source(Numbers(5, 8)).build()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(1)
    ).with_timestamp_assigner(Time())
    found = run(lambda env: env.from_source(source, strategy, "chain").process(Clock()), cuts=1)
    assert [value for value, _ in found] == [1, 2, 3, 4, 5, 6, 7, 8]
    # The end of the first source is not the end of time: nothing of the second one is late.
    assert all(watermark < value for value, watermark in found)
    assert found[-1][1] == 5


class Unreachable(NumberSequenceSource):
    """A source whose server does not answer when it is asked where the records begin."""

    def __init__(self, answer: threading.Event, error: Exception | None = None) -> None:
        super().__init__(1, 3)
        self._answer = answer
        self._error = error

    def __reduce__(self) -> Any:
        return NumberSequenceSource, (1, 3)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        enumerator = super().create_enumerator(context)
        initial = enumerator.initial

        def slow() -> Position:
            assert self._answer.wait(60)
            if self._error is not None:
                raise self._error
            return initial()

        enumerator.initial = slow  # type: ignore[method-assign]
        return enumerator


def test_a_source_that_takes_its_time_holds_nobody_up(tmp_path: Path) -> None:
    answer = threading.Event()
    source = HybridSource.builder(Numbers(-2, 0)).add_source(Unreachable(answer)).build()
    plan, sink = plan_of(stream(source))
    job = LocalJob(plan, tmp_path)
    job.step()
    began = time.monotonic()
    for _ in range(3):
        assert job.step() is None  # nothing to read, and nobody waits
    assert time.monotonic() - began < 30
    answer.set()
    job.run()
    assert sink.values() == [-2, -1, 0, 1, 2, 3]


def test_a_source_that_cannot_be_begun_fails_the_job(tmp_path: Path) -> None:
    answer, error = threading.Event(), SourceError("there is no topic 'nowhere'")
    answer.set()
    source = HybridSource.builder(Numbers(-2, 0)).add_source(Unreachable(answer, error)).build()
    plan, _ = plan_of(stream(source))
    with pytest.raises(SourceError, match="there is no topic 'nowhere'"):
        LocalJob(plan, tmp_path).run()


class Endless(NumberSequenceSource):
    bounded = False


def test_only_the_last_one_may_be_endless() -> None:
    with pytest.raises(ProgramError) as caught:
        HybridSource.builder(Endless(1, 2)).add_source(Numbers(1, 2))
    assert str(caught.value) == (
        "a source that never ends has none behind it\n"
        "  where: HybridSource.builder()\n"
        "  got:   source 1, Endless, is unbounded\n"
        "  to do: let it end, as by set_bounded(), or have it as the last one"
    )
    assert not HybridSource.builder(Numbers(1, 2)).add_source(Endless(1, 2)).build().bounded
