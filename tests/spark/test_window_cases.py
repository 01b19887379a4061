"""The window cases of `tests/cases/windows` on Spark, all in one job."""

from __future__ import annotations

from pathlib import Path

from penstock.testing.cases import read_cases
from tests.spark.conftest import MakeEnvironment
from tests.unit.windowing import case_jobs

FOLDER = Path(__file__).parents[1] / "cases" / "windows"


def test_the_cases_on_spark(make_env: MakeEnvironment) -> None:
    found = [case for path in sorted(FOLDER.glob("*.txt")) for case in read_cases(path)]
    cases = [case for case in found if case_jobs.fits_a_job(case)]
    results = list(case_jobs.build(make_env(), cases).execute_and_collect("window cases"))
    case_jobs.check(cases, results)
