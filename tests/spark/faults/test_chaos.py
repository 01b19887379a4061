"""Random programs under random harm, a few rounds: nothing lost, doubled, wrong, hung or left."""

from __future__ import annotations

import os

import pytest

from tests.spark.faults.chaos import run

ROUNDS = int(os.environ.get("PENSTOCK_CHAOS_ROUNDS", "20"))
SEED = int(os.environ.get("PENSTOCK_CHAOS_SEED", "1"))
#: No round begins later than this: a busy machine does fewer.
SECONDS = float(os.environ.get("PENSTOCK_CHAOS_SECONDS", "60"))


@pytest.mark.timeout(60 * ROUNDS + 600)
def test_chaos() -> None:
    tally = run(ROUNDS, SEED, side_by_side=2, seconds=SECONDS)
    print(tally)
    assert tally.is_clean, str(tally)
    # Each driver does one at least, however long its Spark takes to start.
    assert 2 <= tally.rounds <= ROUNDS
