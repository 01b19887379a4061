"""Random programs under random harm, a few rounds: nothing lost, doubled, wrong, hung or left."""

from __future__ import annotations

import os

import pytest

from tests.spark.faults.chaos import run

ROUNDS = int(os.environ.get("PENSTOCK_CHAOS_ROUNDS", "4"))
SEED = int(os.environ.get("PENSTOCK_CHAOS_SEED", "1"))


@pytest.mark.timeout(120 * ROUNDS)
def test_chaos() -> None:
    tally = run(ROUNDS, SEED, side_by_side=4)
    assert tally.is_clean, str(tally)
    assert tally.rounds == ROUNDS
