"""Jobs in one process, one after the other, leave nothing behind that would add up."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from bench.bench_leaks import Snapshot, over_jobs
from tests.spark.conftest import MASTER


@pytest.mark.timeout(600)
def test_the_driver_and_the_workers_do_not_grow_with_the_number_of_jobs(
    session: SparkSession,
) -> None:
    seen: list[Snapshot] = []
    settings = {"penstock.master": MASTER}
    # The first jobs load classes and start threads that stay.
    over_jobs(6, 6, settings, lambda number, snapshot: seen.append(snapshot))
    over_jobs(10, 10, settings, lambda number, snapshot: seen.append(snapshot))
    before, after = seen
    # Ten jobs: what leaks once with each job, or with each second one, goes beyond these bounds.
    assert after.threads - before.threads <= 3
    assert after.files - before.files <= 3
    assert after.workers <= before.workers + 3
    assert after.memory - before.memory < 40
    assert after.worker_memory - before.worker_memory < 40
