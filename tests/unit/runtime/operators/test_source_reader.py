"""The life of a reader: made at the first range, kept from batch to batch, closed in the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import WatermarkStrategy
from penstock.connectors.counted import CountedEnumerator
from penstock.core.io import (
    EnumeratorContext,
    ReaderContext,
    Source,
    SourceBatch,
    SourceReader,
    SplitEnumerator,
    SplitRange,
)
from penstock.errors import ProgramError
from penstock.testing.local_executor import LocalJob
from tests.unit.process.jobs import plan_of

EVENTS: list[str] = []


class LoggingReader(SourceReader):
    def __init__(self, context: ReaderContext) -> None:
        self._place = f"{context.subtask + 1}/{context.parallelism}"
        assert context.metrics is not None
        self._ranges = context.metrics.counter("ranges")

    def open(self) -> None:
        EVENTS.append(f"open {self._place}")

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        EVENTS.append(f"read {split_range.start}-{split_range.end}")
        self._ranges.inc()
        yield SourceBatch(list(range(split_range.start, split_range.end)))

    def close(self) -> None:
        EVENTS.append(f"close {self._place}")


class CountingSource(Source):
    bounded = True

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return CountedEnumerator(context, 4)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return LoggingReader(context)


@pytest.fixture(autouse=True)
def no_events() -> None:
    EVENTS.clear()


def job(source: Source, folder: Path) -> LocalJob:
    plan, _ = plan_of(
        lambda env: env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    )
    return LocalJob(plan, folder, cuts=2)


def test_one_reader_reads_all_batches(tmp_path: Path) -> None:
    running = job(CountingSource(), tmp_path).run()
    assert EVENTS == ["open 1/1", "read 0-2", "read 2-4", "close 1/1"]
    readings: dict[str, Any] = running.coordinator.metrics()
    assert [value for name, value in readings.items() if name.endswith("ranges")] == [2]


class Unreadable(CountingSource):
    create_reader = Source.create_reader


def test_a_source_that_cannot_be_read() -> None:
    with pytest.raises(ProgramError) as caught:
        next(Unreadable().create_reader(ReaderContext(0, 1)).read(SplitRange("a", 0, 1)))
    assert str(caught.value) == (
        "the source says neither how a range is read nor which reader reads it\n"
        "  got:   Unreadable\n"
        "  to do: override read(), or create_reader()"
    )
