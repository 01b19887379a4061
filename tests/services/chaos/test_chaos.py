"""Exactly once through kills of everything. `PENSTOCK_CHAOS_ROUNDS=20` makes it twenty rounds."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.services.chaos.harness import SERVERS, Round, Trouble
from tests.services.conftest import GetServer

ROUNDS = int(os.environ.get("PENSTOCK_CHAOS_ROUNDS", "2"))
SEED = int(os.environ.get("PENSTOCK_CHAOS_SEED", "1"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_interrupted_job_ends_and_goes_on(servers: GetServer, tmp_path: Path) -> None:
    running = {name: servers(name) for name in SERVERS}
    trouble = Trouble([(18, "interrupt")])
    Round(running, tmp_path / "job", f"interrupted{os.getpid()}", 3000).run(trouble)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_every_record_once_in_every_sink(servers: GetServer, tmp_path: Path, seed: int) -> None:
    running = {name: servers(name) for name in SERVERS}
    trouble = Trouble.random(random.Random(seed), events=3)
    Round(running, tmp_path / "job", f"chaos{os.getpid()}x{seed}").run(trouble)
