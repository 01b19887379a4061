"""A subtask of a source is as far as the slowest of its splits that are still there."""

from __future__ import annotations

import pickle
from typing import Any

from penstock.common.time import Duration
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.core.io import BatchRead, SourceBatch, SplitRange
from penstock.core.time import MAX_WATERMARK
from penstock.graph.specs import Global
from penstock.runtime.envelope import DATA, header_of, unpack_chunk
from penstock.runtime.report import BatchReport
from penstock.runtime.source_task import run_source
from tests.unit.runtime.plans import Input, Planner
from tests.unit.runtime.runner import Worker

STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda value, timestamp: value
)


class Subtask:
    """Reads what a test says, and tells what went to the next level."""

    def __init__(self, strategy: Any = STRATEGY) -> None:
        plan = Planner()
        plan.sink(Input(plan.source(strategy=strategy), Global()))
        self.plan = plan.build()
        self.workers: dict[str, Worker] = {}
        self.state: bytes | None = None
        self.timers: dict[tuple[int, int], int | None] = {}

    def read(
        self,
        *ranges: tuple[str, list[Any]],
        splits: str = "",
        time: int = 1000,
        worker: str = "x",
        ended: bool = False,
        idle: bool = False,
    ) -> tuple[list[Any], list[tuple[int, int]], bool | None, bool]:
        """Return values, watermarks at their positions, and whether idle or ended."""
        parts = [
            SplitRange(split, 0, 0, pickle.dumps([SourceBatch(values)]), last=split not in splits)
            for split, values in ranges
        ]
        read = BatchRead(0, 0, parts, time, ended, tuple(splits), idle, self.state)
        place = self.workers.setdefault(worker, Worker(self.plan))
        rows = run_source(place.job, read, place.cache)
        report = BatchReport.collect((payload for _, payload in rows), self.plan)
        self.state = report.level0.get(("uid-0", 0), self.state)
        self.timers.update(report.timers)
        (chunk,) = [unpack_chunk(row) for _, row in rows if header_of(row).kind == DATA]
        return chunk.values, chunk.marks, chunk.idle, chunk.ended


def test_the_slowest_split_counts() -> None:
    task = Subtask()
    assert task.read(("a", [10]), splits="ab") == ([10], [], False, False)
    assert task.read(("b", [5]), splits="ab") == ([5], [(1, 4)], False, False)
    assert task.read(("b", [20]), splits="ab")[1] == [(1, 9)]


def test_a_split_that_has_not_said_anything_holds_the_others_back() -> None:
    task = Subtask()
    assert task.read(("a", [10]), splits="ab")[1] == []
    assert task.read(("a", [20]), splits="ab", worker="y")[1] == []


def test_a_split_that_has_been_read_to_its_end_holds_nobody_back() -> None:
    task = Subtask()
    task.read(("a", [10]), splits="ab")
    assert task.read(("b", [5]), ("a", [30]), splits="a")[1] == [(1, 9), (2, 29)]


def test_a_split_may_come_in_several_ranges_and_end_with_the_last() -> None:
    task = Subtask()
    task.read(("a", [10]), ("b", [50]), splits="ab")
    assert task.read(("a", [20]), ("a", [30]), splits="b")[1] == [(2, 49)]


def test_a_split_that_is_gone_without_another_record_holds_nobody_back() -> None:
    task = Subtask()
    assert task.read(("a", [10]), splits="ab")[1] == []
    assert task.read(splits="a")[1] == [(0, 9)]


def test_the_watermark_does_not_fall_when_a_split_joins() -> None:
    task = Subtask()
    assert task.read(("a", [10]), splits="a")[1] == [(1, 9)]
    assert task.read(("b", [3]), splits="ab")[1] == []
    assert task.read(("a", [50]), ("b", [20]), splits="ab", worker="y")[1] == [(2, 19)]


def test_splits_go_idle_one_by_one_and_the_subtask_with_the_last() -> None:
    task = Subtask(STRATEGY.with_idleness(Duration.of_millis(100)))
    task.read(("a", [10]), splits="ab", time=1000)
    assert task.timers == {("uid-0", 0): 1100}
    assert task.read(("a", [20]), splits="ab", time=1050)[1:] == ([], False, False)
    assert task.read(splits="ab", time=1100)[1:] == ([(0, 19)], False, False)
    assert task.timers == {("uid-0", 0): 1150}
    assert task.read(splits="ab", time=1150)[1:] == ([], True, False)
    assert task.timers == {("uid-0", 0): None}
    assert task.read(("b", [30]), splits="ab", time=1200)[1:] == ([(1, 29)], False, False)


def test_a_subtask_without_splits_goes_idle_too() -> None:
    task = Subtask(STRATEGY.with_idleness(Duration.of_millis(100)))
    assert task.read(time=1000)[2] is False
    assert task.read(time=1100)[2] is True
    assert task.read(splits="a", time=1150)[2] is False, "there is somebody to wait for"
    assert task.read(("a", [5]), splits="a", time=1160)[1:3] == ([(1, 4)], False)


def test_a_source_may_say_itself_that_it_is_idle() -> None:
    task = Subtask(strategy=None)
    assert task.read(("a", [1]), splits="a")[2] is False
    assert task.read(splits="a", idle=True)[2] is True
    assert task.read(splits="a", idle=True, worker="y")[2] is True
    assert task.read(("a", [2]), splits="a", worker="y")[2] is False


def test_the_end_is_the_last_thing_that_is_said() -> None:
    task = Subtask(STRATEGY.with_idleness(Duration.of_millis(100)))
    task.read(splits="a", time=1000)
    task.read(splits="a", time=1100)
    values, marks, _, ended = task.read(("a", [7]), time=1200, ended=True)
    assert (values, marks[-1], ended) == ([7], (1, MAX_WATERMARK), True)
    assert task.read(time=1300, ended=True, worker="y")[3] is True
    assert task.timers == {("uid-0", 0): None}
