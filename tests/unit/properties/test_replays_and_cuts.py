"""What must not matter: which worker runs a batch, how often, and where batches are cut.

A replay of the same cut is exactly equal, on any worker. Different cuts are exactly equal where
every exchange has one input channel; elsewhere equal as multisets, for programs whose result does
not depend on how their inputs interleave.
"""

from __future__ import annotations

import random
from contextlib import nullcontext
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.runtime.state import log
from tests.unit.properties.programs import (
    Program,
    any_program,
    build,
    one_channel_program,
    settled_program,
)
from tests.unit.properties.runs import make_cuts, run_plainly, run_with_trouble

pytestmark = pytest.mark.usefixtures("backend")

SEEDS = st.integers(0, 10**6)
slowly = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@slowly
@given(any_program(), SEEDS, st.booleans())
def test_replays_of_the_same_cut_are_exactly_equal(
    program: Program, seed: int, short_log: bool
) -> None:
    expected, troubled = build(program), build(program)
    cuts = make_cuts(seed)
    state = run_plainly(expected.plan, cuts)
    # A log that is written anew every few batches, key by key, must make no difference either.
    sizes = {
        "_MIN_LOG_BYTES": 500, "_MERGED": 3, "_TAIL_BYTES": 100, "_MIN_SWEEP_BYTES": 1,
        "_SWEEP_STEP": 1,
    }  # fmt: skip
    with mock.patch.multiple(log, **sizes) if short_log else nullcontext():
        state_after_trouble = run_with_trouble(troubled.plan, cuts, random.Random(seed))
    assert troubled.by_subtask() == expected.by_subtask()
    assert state_after_trouble == state


@slowly
@given(one_channel_program(), SEEDS)
def test_cuts_are_exactly_equal_where_there_is_one_channel(program: Program, seed: int) -> None:
    whole, cut = build(program), build(program)
    run_plainly(whole.plan, None)
    run_plainly(cut.plan, make_cuts(seed))
    assert cut.by_subtask() == whole.by_subtask()


@slowly
@given(settled_program(), SEEDS)
def test_cuts_are_equal_as_multisets_elsewhere(program: Program, seed: int) -> None:
    whole, cut = build(program), build(program)
    run_plainly(whole.plan, None)
    run_plainly(cut.plan, make_cuts(seed))
    assert cut.as_multisets() == whole.as_multisets()
