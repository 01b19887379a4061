"""The benchmark's Penstock programs give what plain Python says, so that they cannot rot."""

from __future__ import annotations

import doctest
from functools import partial

import pytest

from bench.engines import datastream, datastream_latency, program
from bench.engines.paced import run_paced
from bench.engines.program import run_once
from bench.workloads import checksum, pace, records
from bench.workloads.catalog import WORKLOADS
from bench.workloads.pace import Pace

IN_PROCESS = {"execution.target": "in-process"}
RECORDS, KEYS = 4000, 40


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_program_of_each_workload_gives_what_is_expected(name: str) -> None:
    workload = WORKLOADS[name]
    prepare = partial(datastream.prepare, settings=IN_PROCESS)
    run = run_once(prepare, workload, RECORDS, KEYS)
    assert run["checksum"] == workload.checksum("penstock", RECORDS, KEYS).as_list()


@pytest.mark.parametrize("levels", [2, 3])
def test_more_levels_give_the_same_counts(levels: int) -> None:
    workload = WORKLOADS["state"]
    prepare = partial(datastream.prepare, levels=levels, settings=IN_PROCESS)
    run = run_once(prepare, workload, RECORDS, KEYS)
    assert run["checksum"] == workload.checksum("penstock", RECORDS, KEYS).as_list()


def test_latency_is_measured_for_every_record_behind_the_warm_up() -> None:
    rate = Pace(rate=2000, warm_s=1, measured_s=1)
    seen = run_paced(partial(datastream_latency.run, settings=IN_PROCESS), rate)
    assert seen.count == 2000
    assert 0 <= seen.quantile(0.5) <= seen.quantile(0.99)


@pytest.mark.parametrize("module", [checksum, pace, program, records])
def test_examples_in_the_definitions_are_true(module: object) -> None:
    assert doctest.testmod(module).failed == 0


def test_results_at_hand_are_told_apart_from_wrong_ones() -> None:
    right = WORKLOADS["tumbling"].checksum("penstock", RECORDS, KEYS)
    assert right.count == KEYS * RECORDS // KEYS // 10
    assert right != WORKLOADS["tumbling"].checksum("penstock", RECORDS - 2, KEYS)
