"""Batches that have no data: timers, and the end of input."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from penstock.runtime.report import BatchReport
from tests.unit.coordinator.fakes import (
    Engine,
    SteeredSink,
    SteeredSource,
    output,
    plan_of,
)


def with_timer(tmp_path: Path, after: int) -> tuple[Engine, int]:
    """Return an engine whose first batch left a timer in slot 2 of level 1."""
    engine = Engine(plan_of(SteeredSource(a=1)), tmp_path)
    at = engine.clock.now + after
    engine.work = lambda reads: BatchReport(
        timers={("level 1", 2): at, ("level 1", 0): at + 5000, ("level 2", 0): None}
    )
    engine.batch()
    engine.work = lambda reads: BatchReport(timers={("level 1", 2): None})
    return engine, at


def test_a_timer_is_offered_when_it_is_due_and_not_before(tmp_path: Path) -> None:
    engine, at = with_timer(tmp_path, 100)
    engine.clock.now = at - 1
    assert engine.batch() is None
    engine.clock.now = at + 3
    [read] = engine.batch() or []
    assert read.time == at + 3
    assert read.ranges == []
    assert engine.end_offset()["control"] == {"timers": {"level 1/2": at}}
    assert engine.batch() is None


def test_timers_are_restored(tmp_path: Path) -> None:
    engine, at = with_timer(tmp_path, 100)
    engine.restart()
    assert engine.batch() is None
    engine.clock.now = at
    assert engine.batch() is not None
    engine.restart()
    engine.clock.now = at + 4999
    assert engine.batch() is None
    engine.clock.now = at + 5000
    assert engine.batch() is not None


def test_a_timer_in_the_past_fires_although_the_clock_has_jumped_back(tmp_path: Path) -> None:
    engine, at = with_timer(tmp_path, 0)
    engine.work = lambda reads: BatchReport(timers={("level 1", 2): at})
    for _ in range(3):
        engine.clock.now = at - 3_600_000
        before = engine.start_offset()["time"]
        [read] = engine.batch() or []
        assert read.time in (before, before + 1)


def test_a_wait_ends_when_a_timer_is_due(tmp_path: Path) -> None:
    engine = Engine(plan_of(SteeredSource(a=1)), tmp_path, options={"poll_ms": 20_000})
    engine.work = lambda reads: BatchReport(timers={("level 1", 0): reads[0].time + 30})
    began = time.monotonic()
    beginning = engine.clock.now

    def tick() -> None:
        while engine.clock.now < beginning + 100:
            engine.clock.now = beginning + int((time.monotonic() - began) * 1000)
            time.sleep(0.005)

    threading.Thread(target=tick).start()
    engine.batch()
    assert engine.batch() is not None
    assert time.monotonic() - began < 5


def test_a_split_that_has_been_read_to_its_end_is_marked(tmp_path: Path) -> None:
    source = SteeredSource(a=2, b=1)
    source.done_splits = {"a"}
    engine = Engine(plan_of(source), tmp_path)
    [read] = engine.batch() or []
    assert [(r.split, r.last) for r in read.ranges] == [("a", True), ("b", False)]
    assert read.splits == ("b",)


def test_the_end_of_a_source_comes_with_its_last_records(tmp_path: Path) -> None:
    source, other = SteeredSource(a=3), SteeredSource(b=1)
    source.ended = True
    options = {"settings": {"penstock.batch.max-records": 2}}
    engine = Engine(plan_of(source, other), tmp_path, options=options)
    seen = []
    for more in (2, 3, 4):
        reads = engine.batch() or []
        seen.append([(r.ended, len(r.ranges)) for r in reads])
        other.available["b"] = more
    assert seen == [
        [(False, 1), (False, 1)],
        [(True, 1), (False, 1)],
        [(True, 0), (False, 1)],
    ]
    assert source.enumerator.committed_positions[-1]["done"]
    assert not engine.coordinator.finished.is_set()


def test_an_end_without_records_is_a_batch_of_its_own(tmp_path: Path) -> None:
    source, other = SteeredSource(a=1), SteeredSource(b=0)
    engine = Engine(plan_of(source, other), tmp_path)
    engine.batch()
    source.ended = True
    reads = engine.batch() or []
    assert [(r.ended, r.ranges) for r in reads] == [(True, []), (False, [])]
    assert engine.batch() is None


def test_an_empty_bounded_source_tells_its_end(tmp_path: Path) -> None:
    source = SteeredSource()
    source.ended = True
    source_at_once = Engine(plan_of(source), tmp_path)
    [read] = source_at_once.batch() or []
    assert read.ended
    assert source_at_once.batch() is None
    assert source_at_once.coordinator.finished.is_set()
    assert source_at_once.coordinator.failure is None


def test_an_ended_source_stays_ended_after_a_restart(tmp_path: Path) -> None:
    source, other = SteeredSource(a=1), SteeredSource(b=0)
    source.ended = True
    engine = Engine(plan_of(source, other), tmp_path)
    engine.batch()
    del source.enumerator
    engine.restart()
    assert not hasattr(source, "enumerator")
    other.available["b"] = 1
    assert [r.ended for r in engine.batch() or []] == [True, False]


def test_a_job_is_finished_when_the_last_batch_is_published(tmp_path: Path) -> None:
    source, sink = SteeredSource(a=1), SteeredSink()
    source.ended = True
    engine = Engine(plan_of(source, sink=sink), tmp_path, options={"publish_interval_ms": 10**9})
    engine.work = lambda reads: output("last words")
    engine.batch()
    assert not engine.coordinator.finished.is_set()
    assert sink.published == []
    assert engine.batch() is None
    assert engine.coordinator.finished.is_set()
    assert sink.published == [(0, [b"last words"])]
    assert source.enumerator.closed == 1


def test_timers_pending_at_the_end_do_not_fire(tmp_path: Path) -> None:
    source = SteeredSource(a=1)
    source.ended = True
    engine = Engine(plan_of(source), tmp_path)
    engine.work = lambda reads: BatchReport(timers={("level 1", 0): engine.clock.now})
    engine.batch()
    engine.clock.now += 1000
    assert engine.batch() is None


def test_a_job_that_had_ended_is_finished_at_once_after_a_restart(tmp_path: Path) -> None:
    source, sink = SteeredSource(a=1), SteeredSink()
    source.ended = True
    engine = Engine(plan_of(source, sink=sink), tmp_path)
    engine.work = lambda reads: output("last words")
    engine.batch()
    engine.restart()
    assert engine.coordinator.finished.is_set()
    assert sink.published == [(0, [b"last words"])]


def receiving() -> SteeredSource:
    source = SteeredSource(a=0)
    source.receives = True
    return source


def test_a_source_that_receives_begins_when_the_first_batch_has_run(tmp_path: Path) -> None:
    source = receiving()
    engine = Engine(plan_of(source), tmp_path, options={"opening_batch": True})
    assert source.enumerator.begun == 0
    [read] = engine.batch() or []
    assert read.ranges == []
    assert source.enumerator.begun == 1
    assert engine.batch() is None, "nothing else has to be opened"
    engine.restart()
    assert source.enumerator.begun == 0
    assert engine.batch() is not None
    assert source.enumerator.begun == 1


def test_a_batch_of_other_sources_opens_as_well(tmp_path: Path) -> None:
    source = receiving()
    engine = Engine(plan_of(SteeredSource(a=3), source), tmp_path, options={"opening_batch": True})
    assert [len(read.ranges) for read in engine.batch() or []] == [1, 0]
    assert source.enumerator.begun == 1
    assert engine.batch() is None


def test_other_jobs_need_no_opening_batch(tmp_path: Path) -> None:
    plain, source = SteeredSource(a=0), receiving()
    assert Engine(plan_of(plain), tmp_path / "a", options={"opening_batch": True}).batch() is None
    assert Engine(plan_of(source), tmp_path / "b").batch() is None
    assert plain.enumerator.begun == source.enumerator.begun == 1


def test_a_batch_knows_the_time_of_the_one_before(tmp_path: Path) -> None:
    source = SteeredSource(a=1)
    engine = Engine(plan_of(source), tmp_path)
    began = engine.clock.now
    engine.clock.now += 500
    [first] = engine.batch() or []
    source.available["a"] = 2
    engine.clock.now += 700
    [second] = engine.batch() or []
    assert (first.time_before, first.time) == (began, began + 500)
    assert (second.time_before, second.time) == (began + 500, began + 1200)
