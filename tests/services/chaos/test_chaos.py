"""Exactly once through kills of everything. `PENSTOCK_CHAOS_ROUNDS=20` makes it twenty rounds.

`PENSTOCK_OUTAGE_SECONDS=60` keeps the broker away for a minute in the first round.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.services.chaos.harness import SERVERS, Round, Trouble
from tests.services.conftest import GetServer

ROUNDS = int(os.environ.get("PENSTOCK_CHAOS_ROUNDS", "1"))
SEED = int(os.environ.get("PENSTOCK_CHAOS_SEED", "1"))
OUTAGE = float(os.environ.get("PENSTOCK_OUTAGE_SECONDS", "15"))
#: One round is always the same: a worker dies, the user interrupts the job, the broker is gone.
FIXED = Trouble([(9, "worker"), (16, "interrupt"), (28, "kafka")], away=OUTAGE)
ROUND = [FIXED, *(Trouble.random(random.Random(SEED + n), events=3) for n in range(ROUNDS))]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(len(ROUND)))
def test_every_record_once_in_every_sink(servers: GetServer, tmp_path: Path, number: int) -> None:
    running = {name: servers(name) for name in SERVERS}
    Round(running, tmp_path / "job", f"chaos{os.getpid()}x{number}").run(ROUND[number])
