"""When a batch is offered, what it reads, and what time it is."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.core.io import SplitRange
from penstock.errors import ConfigurationError, JobFailedError
from penstock.runtime.report import BatchReport
from tests.unit.coordinator.fakes import Engine, SteeredSource, plan_of


def test_an_idle_job_gets_its_start_back_unchanged(tmp_path: Path) -> None:
    engine = Engine(plan_of(SteeredSource(a=0)), tmp_path)
    start = engine.start_offset()
    text = json.dumps(start)
    for _ in range(3):
        engine.clock.now += 60_000
        assert json.dumps(engine.coordinator.latest_offset(start)) == text


def test_a_batch_reads_what_is_new(tmp_path: Path) -> None:
    source = SteeredSource(a=3)
    engine = Engine(plan_of(source), tmp_path)
    [read] = engine.batch() or []
    assert read.ranges == [SplitRange("a", 0, 3)]
    assert (read.source_id, read.subtask, read.ended) == (1, 0, False)
    assert engine.batch() is None
    source.available["a"] = 5
    [read] = engine.batch() or []
    assert read.ranges == [SplitRange("a", 3, 5)]


def test_every_subtask_is_planned_also_those_without_data(tmp_path: Path) -> None:
    first, second = SteeredSource(a=1, b=0, c=1), SteeredSource(x=0)
    engine = Engine(plan_of(first, second, parallelism=2), tmp_path)
    reads = engine.batch() or []
    assert [(r.source_id, r.subtask, len(r.ranges)) for r in reads] == [
        (1, 0, 2), (1, 1, 0), (2, 0, 0), (2, 1, 0),
    ]  # fmt: skip
    assert [r.splits for r in reads] == [("a", "c"), ("b",), ("x",), ()]


def test_a_source_has_its_own_record_limit_and_a_fair_share_of_bytes(tmp_path: Path) -> None:
    busy, quiet, ended = SteeredSource(a=25), SteeredSource(b=3), SteeredSource(c=1)
    ended.ended = True
    settings = {"penstock.batch.max-records": "10", "penstock.batch.max-bytes": "3 kb"}
    engine = Engine(plan_of(busy, quiet, ended), tmp_path, options={"settings": settings})
    reads = engine.batch() or []
    assert [r.ranges[0].end for r in reads] == [10, 3, 1]
    assert busy.enumerator.limits[-1].max_bytes == 1024
    assert engine.batches() == 2
    assert busy.enumerator.limits[-1].max_bytes == 1536


@pytest.mark.parametrize("value", ["many", "0", "-1", "1.5", "", "10mb"])
def test_a_limit_that_cannot_work(value: str, tmp_path: Path) -> None:
    todo = "write 1 or more" if value in ("0", "-1") else "write a whole number"
    with pytest.raises(ConfigurationError) as caught:
        Engine(plan_of(), tmp_path, options={"settings": {"penstock.batch.max-records": value}})
    assert str(caught.value) == (
        "the setting has a value that cannot work\n"
        "  where: configuration key penstock.batch.max-records\n"
        f"  got:   {value!r}\n"
        f"  to do: {todo}"
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [("100", 100), (100, 100), ("2k", 2048), ("2 KiB", 2048), ("1mb", 1 << 20), ("5 bytes", 5)],
)
def test_sizes_are_numbers_with_a_unit(text: Any, size: int, tmp_path: Path) -> None:
    source = SteeredSource(a=1)
    engine = Engine(
        plan_of(source), tmp_path, options={"settings": {"penstock.batch.max-bytes": text}}
    )
    engine.batch()
    assert source.enumerator.limits[0].max_bytes == size


def test_a_wait_ends_when_a_source_wakes_it(tmp_path: Path) -> None:
    source = SteeredSource(a=0)
    engine = Engine(plan_of(source), tmp_path, options={"poll_ms": 20_000})

    def produce() -> None:
        time.sleep(0.02)
        source.available["a"] = 1
        source.enumerator.context.wake()

    threading.Thread(target=produce).start()
    began = time.monotonic()
    assert engine.batch() is not None
    assert time.monotonic() - began < 5


def test_a_wait_ends_by_itself(tmp_path: Path) -> None:
    engine = Engine(plan_of(SteeredSource(a=0)), tmp_path, options={"poll_ms": 30})
    began = time.monotonic()
    assert engine.batch() is None
    assert 0.025 < time.monotonic() - began < 5


def test_a_source_that_named_a_time_is_not_asked_before_it(tmp_path: Path) -> None:
    source = SteeredSource(a=0)
    engine = Engine(plan_of(source), tmp_path)
    source.wakeup = engine.clock.now + 1000
    for _ in range(3):
        engine.batch()
    assert source.enumerator.asked == 1
    source.enumerator.context.wake()
    engine.batch()
    assert source.enumerator.asked == 2
    engine.clock.now += 1000
    source.available["a"] = 1
    assert engine.batch() is not None


def test_a_source_that_a_limit_cut_short_is_asked_again_at_once(tmp_path: Path) -> None:
    source = SteeredSource(a=5)
    options = {"settings": {"penstock.batch.max-records": 2}}
    engine = Engine(plan_of(source), tmp_path, options=options)
    source.wakeup = engine.clock.now + 1000
    assert engine.batches() == 3


def test_time_is_that_of_the_clock(tmp_path: Path) -> None:
    source = SteeredSource(a=1)
    engine = Engine(plan_of(source), tmp_path)
    engine.clock.now += 70
    [read] = engine.batch() or []
    assert read.time == engine.clock.now == engine.end_offset()["time"]


def test_time_never_falls_when_the_clock_does(tmp_path: Path) -> None:
    source = SteeredSource(a=1)
    engine = Engine(plan_of(source), tmp_path)
    engine.batch()
    high = engine.clock.now
    for _ in range(2):
        engine.clock.now = high - 3_600_000
        source.available["a"] += 1
        [read] = engine.batch() or []
        assert read.time == high
        engine.restart()
    engine.clock.now = high + 5
    source.available["a"] += 1
    [read] = engine.batch() or []
    assert read.time == high + 5


def test_time_of_a_repeated_batch_is_the_logged_one(tmp_path: Path) -> None:
    source = SteeredSource(a=1)
    engine = Engine(plan_of(source), tmp_path)
    engine.ask()
    logged = engine.clock.now
    engine.clock.now -= 500
    engine.restart()
    [read] = engine.batch() or []
    assert read.time == logged
    source.available["a"] = 2
    [read] = engine.batch() or []
    assert read.time == logged


def test_level_zero_state_goes_to_the_next_batch_of_the_same_subtask(tmp_path: Path) -> None:
    first, second = SteeredSource(a=1, b=1), SteeredSource(x=1)
    engine = Engine(plan_of(first, second, parallelism=2), tmp_path)
    engine.work = lambda reads: BatchReport(
        level0={
            (f"uid {r.source_id}", r.subtask): (r.state or b"") + b"+" for r in reads if r.ranges
        }
    )
    engine.batch()
    first.available["a"] = second.available["x"] = 2
    engine.batch()
    first.available["b"] = 2
    reads = engine.batch() or []
    assert [r.state for r in reads] == [b"++", b"+", b"++", None]


def test_offset_without_a_record_is_refused(tmp_path: Path) -> None:
    engine = Engine(plan_of(SteeredSource(a=1)), tmp_path)
    engine.ask()
    lost = {**engine.start_offset(), "time": 7}
    with pytest.raises(JobFailedError, match="no record of the job ends where"):
        engine.coordinator.plan_batch(lost, engine.end_offset())
    assert isinstance(engine.coordinator.failure, JobFailedError)


def test_state_of_another_program_is_refused(tmp_path: Path) -> None:
    first, second = SteeredSource(a=1), SteeredSource(b=4)
    engine = Engine(plan_of(first), tmp_path)
    engine.batch()
    engine.plan = plan_of(first, second)
    assert str(engine.restart().failure) == (
        "the state that is there belongs to another program\n"
        f"  where: job directory {tmp_path}\n"
        "  got:   'numbers-2' (uid 2) is new\n"
        "  to do: run the program that it had, or start anew with another job name or "
        "checkpoint directory"
    )
    engine.plan = plan_of(first, parallelism=2)
    assert "  got:   'numbers-1' (uid 1): parallelism 1 is now 2\n" in str(engine.restart().failure)
    engine.plan = plan_of(first)
    assert engine.restart().failure is None
