"""Totals of accumulators over the subtasks of a job."""

from __future__ import annotations

from pathlib import Path

from penstock.core.functions import IntCounter
from penstock.runtime.report import BatchReport
from tests.unit.coordinator.fakes import Engine, SteeredSource, plan_of


def totals(engine: Engine) -> dict[str, int]:
    return engine.coordinator.accumulators()


def test_accumulators_are_merged_and_kept(tmp_path: Path) -> None:
    source = SteeredSource(a=1)
    engine = Engine(plan_of(source), tmp_path)
    assert totals(engine) == {}
    engine.work = lambda reads: BatchReport(
        accumulators={
            (5, 1): {"lines": IntCounter(2)},
            (5, 0): {"lines": IntCounter(3), "words": IntCounter(1)},
        }
    )
    engine.batch()
    assert totals(engine) == totals(engine) == {"lines": 5, "words": 1}
    engine.work = lambda reads: BatchReport(accumulators={(5, 1): {"lines": IntCounter(10)}})
    source.available["a"] = 2
    engine.batch()
    assert totals(engine) == {"lines": 13, "words": 1}
    engine.restart()
    assert totals(engine) == {"lines": 13, "words": 1}


def test_a_repeated_batch_counts_once(tmp_path: Path) -> None:
    engine = Engine(plan_of(SteeredSource(a=1)), tmp_path)
    engine.work = lambda reads: BatchReport(accumulators={(5, 0): {"lines": IntCounter(2)}})
    engine.ask()
    engine.run()
    engine.work = lambda reads: BatchReport()
    engine.run()
    assert totals(engine) == {}
