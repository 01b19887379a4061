"""A savepoint taken at parallelism 2 and resumed at any other: the result of one run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.testing.local_executor import LocalJob
from tests.unit.savepoint.programs import PAIRS, STEPS, Program, programs, results, run

pytestmark = pytest.mark.usefixtures("backend")

RECORDS = tuple((n * 5 % 7, n * 11 % 50, 2 * n) for n in range(40))
OTHERS = tuple((n * 3 % 7, n * 13 % 50, n * 4) for n in range(20))


def moved(program: Program, batches: int, parallelism: int) -> list[list[Any]]:
    """Run some batches at parallelism 2, take a savepoint, run the rest at another one."""
    plan, before = program.build(2)
    resumed, after = program.build(parallelism)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        job = LocalJob(plan, place / "first", cuts=3, poll_ms=0)
        for _ in range(batches):
            job.step()
        try:
            savepoint = job.savepoint(place / "savepoints", stop=True)
        except StateError:
            assert job.coordinator.finished.wait(10), "only at the end no savepoint can be taken"
            job.close()
            return results(before)
        job.close()
        LocalJob(resumed, place / "second", cuts=3, poll_ms=0, restore=savepoint).run()
    both = zip(results(before), results(after), strict=True)
    return [sorted(first + second) for first, second in both]


def expected(program: Program) -> list[list[Any]]:
    plan, sinks = program.build(2)
    run(plan)
    return results(sinks)


@pytest.mark.parametrize("kind", [*STEPS, *PAIRS, "side"])
def test_every_kind_of_state(kind: str) -> None:
    program = Program((RECORDS, OTHERS), ((kind, 1, 0), ("map", 2, 0)))
    wanted = expected(program)
    assert any(wanted)
    for parallelism in (1, 3, 4):
        assert moved(program, 5, parallelism) == wanted, parallelism


@settings(
    max_examples=int(os.environ.get("PENSTOCK_RESCALING_PROGRAMS", "25")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(programs(), st.integers(0, 6), st.sampled_from([1, 2, 3, 4]))
def test_random_programs(program: Program, batches: int, parallelism: int) -> None:
    assert moved(program, batches, parallelism) == expected(program)
