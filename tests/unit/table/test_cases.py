"""SQL cases: tables, a query, and the changelog that Flink gives for it.

The expected rows were recorded from PyFlink by `scripts/record_sql_cases.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sql_cases import Case, final_table, read_cases, run_case

FILES = sorted((Path(__file__).parents[2] / "cases" / "sql").glob("*.txt"))
CASES = [case for file in FILES for case in read_cases(file)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_query_gives_the_changelog_that_flink_gives(case: Case, tmp_path: Path) -> None:
    changes = run_case(case, tmp_path)
    if case.compare == "changelog":
        assert changes == case.expected
    elif case.compare == "unordered":
        assert sorted(changes) == sorted(case.expected)
    else:
        assert final_table(changes) == final_table(case.expected)


@pytest.mark.parametrize("case", [c for c in CASES if not c.streaming_only], ids=str)
def test_batch_mode_gives_the_same_final_table(case: Case, tmp_path: Path) -> None:
    rows = run_case(case, tmp_path, batch=True)
    assert all(row.startswith("+I") for row in rows)
    assert sorted(row[2:] for row in rows) == final_table(case.expected)
