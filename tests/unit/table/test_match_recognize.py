"""MATCH_RECOGNIZE: functions of the user, processing time, plans, and what a wrong clause is told.

What matches give is in `tests/cases/sql/match.txt`, recorded from Flink.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.udf import udf
from tests.sql_cases import show

ROWS = "1,a,5,2024-01-01 00:00:01\n2,a,9,2024-01-01 00:00:02\n3,a,2,2024-01-01 00:00:03\n"


@pytest.fixture
def t_env(tmp_path: Path) -> TableEnvironment:
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.target", "in-process")
    t_env.execute_sql(
        "CREATE TABLE t (id INT, k STRING, v INT, ts TIMESTAMP(3), pt AS PROCTIME(), "
        "WATERMARK FOR ts AS ts) WITH "
        f"('connector' = 'filesystem', 'path' = '{tmp_path}/t.csv', 'format' = 'csv')"
    )
    return t_env


def _query(body: str) -> str:
    return f"SELECT * FROM t MATCH_RECOGNIZE ({body}) AS m"


def _rows(t_env: TableEnvironment, body: str) -> list[str]:
    with t_env.execute_sql(_query(body)).collect() as found:
        return [show(row) for row in found]


def test_a_function_of_the_user_is_called_in_conditions_and_measures(
    t_env: TableEnvironment,
) -> None:
    twice = udf(lambda v: v * 2, result_type=DataTypes.INT())
    t_env.create_temporary_function("twice", twice)
    body = (
        "PARTITION BY k ORDER BY ts MEASURES twice(A.v) AS a, B.id AS b "
        "AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE B AS twice(B.v) > twice(A.v)"
    )
    assert _rows(t_env, body) == ["+I[a, 10, 2]"]


def test_rows_are_matched_in_processing_time_as_they_come(t_env: TableEnvironment) -> None:
    body = (
        "ORDER BY pt MEASURES A.id AS a, B.id AS b, MATCH_PROCTIME() IS NULL AS n "
        "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE B AS B.id > A.id"
    )
    assert _rows(t_env, body) == ["+I[1, 2, false]", "+I[2, 3, false]"]


def test_the_plan_shows_the_clauses(t_env: TableEnvironment) -> None:
    body = (
        "PARTITION BY k ORDER BY ts, id DESC MEASURES LAST(B.v, 1) AS b, SUM(A.v) AS s "
        "AFTER MATCH SKIP TO FIRST B PATTERN (A B{2,}? C) WITHIN INTERVAL '1' MINUTE "
        "DEFINE B AS B.v > A.v"
    )
    text = t_env.explain_sql(_query(body))
    assert (
        "Match(partitionBy=[k], orderBy=[ts ASC, id DESC], measures=[LAST(B.v, 1) AS b, "
        "SUM(A.v) AS s], rowsPerMatch=[ONE ROW PER MATCH], after=[SKIP TO FIRST B], "
        "pattern=[(A B{2,}? C) WITHIN 60000 ms], define=[B AS (B.v > A.v)])"
    ) in text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            "ORDER BY ts MEASURES A.id AS a PATTERN (A B+) DEFINE A AS A.v > 1",
            "Greedy quantifiers are not allowed as the last element of a Pattern yet. "
            "Finish your pattern with either a simple variable or reluctant quantifier.\n"
            "  where: line 1, column 17\n"
            "  to do: add a variable behind it, or a ? behind the quantifier",
        ),
        (
            "ORDER BY ts MEASURES A.id AS a PATTERN (A*?) DEFINE A AS A.v > 1",
            "Patterns that can produce empty matches are not supported. "
            "There must be at least one non-optional state.\n"
            "  where: line 1, column 17\n"
            "  to do: let a variable take one row at least",
        ),
        (
            "ORDER BY ts MEASURES A.id AS a ALL ROWS PER MATCH PATTERN (A B) DEFINE A AS A.v > 1",
            "All rows per match mode is not supported yet.\n"
            "  where: line 1, column 17\n"
            "  to do: write ONE ROW PER MATCH, or leave it out",
        ),
        (
            "ORDER BY v MEASURES A.id AS a PATTERN (A B) DEFINE A AS A.v > 1",
            "You must specify either rowtime or proctime for order by as the first one.\n"
            "  where: line 1, column 17\n"
            "  got:   v\n"
            "  to do: order by a time attribute first",
        ),
        (
            "ORDER BY ts DESC MEASURES A.id AS a PATTERN (A B) DEFINE A AS A.v > 1",
            "Primary sort order of a streaming table must be ascending on time.\n"
            "  where: line 1, column 17\n"
            "  got:   ts DESC\n"
            "  to do: leave out DESC",
        ),
        (
            "ORDER BY ts MEASURES A.id AS a PATTERN (A B?? C) DEFINE A AS A.v > 1",
            "Reluctant optional variables are not supported yet.\n"
            "  where: line 1, column 17\n"
            "  to do: write B?",
        ),
        (
            "ORDER BY ts MEASURES A.id AS a PATTERN (A+ B? C) DEFINE A AS A.v > 1",
            "Optional pattern cannot be preceded by greedy pattern\n"
            "  where: line 1, column 17\n"
            "  to do: put a ? behind the quantifier of A",
        ),
        (
            "ORDER BY ts MEASURES SUM(A.v * B.v) AS a PATTERN (A B) DEFINE A AS A.v > 1",
            "Aggregation must be applied to a single pattern variable\n"
            "  where: line 1, column 17\n"
            "  got:   SUM((A.v * B.v))\n"
            "  to do: read columns of one variable in it",
        ),
        (
            "ORDER BY ts MEASURES A.id AS a PATTERN (A B) DEFINE B AS B.v > D.v",
            "there is no pattern variable 'D'\n"
            "  where: line 1, column 99\n"
            "  got:   D.v\n"
            "  to do: variables of the PATTERN are: A, B",
        ),
        (
            "ORDER BY ts MEASURES A.id AS a PATTERN (A B) DEFINE D AS TRUE",
            "Pattern variable 'D' is defined but not used in the PATTERN\n"
            "  where: line 1, column 17\n"
            "  to do: define each variable of the PATTERN once at most",
        ),
        (
            "ORDER BY ts MEASURES A.id AS a AFTER MATCH SKIP TO LAST D PATTERN (A B) "
            "DEFINE A AS TRUE",
            "Unknown pattern 'D'\n"
            "  where: line 1, column 17\n"
            "  to do: skip to a variable of the PATTERN",
        ),
        (
            "PARTITION BY k ORDER BY ts MEASURES A.id AS k PATTERN (A B) DEFINE A AS TRUE",
            "Columns ambiguously defined\n"
            "  where: line 1, column 17\n"
            "  got:   k\n"
            "  to do: give each measure its own name",
        ),
        (
            "ORDER BY ts MEASURES A.id AS a PATTERN (A | B) DEFINE A AS TRUE",
            "groups, alternatives, PERMUTE and exclusions are not supported in a PATTERN. "
            "Expected variables with quantifiers\n"
            "  where: line 1, column 74\n"
            "  got:   SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS a "
            "PATTERN (A | B) DEFINE A AS TRUE) AS m\n" + " " * 82 + "^\n"
            "  to do: correct the statement there",
        ),
        (
            "ORDER BY ts MEASURES CLASSIFIER() AS a PATTERN (A B) DEFINE A AS TRUE",
            "CLASSIFIER() is not supported in MATCH_RECOGNIZE\n"
            "  where: line 1, column 17\n"
            "  to do: use FIRST(...) and LAST(...)",
        ),
    ],
)
def test_a_wrong_clause_is_told(t_env: TableEnvironment, body: str, text: str) -> None:
    with pytest.raises(PenstockError) as caught:
        t_env.execute_sql(_query(body))
    # The underlined statement below `where` has tests of its own.
    assert re.sub(r"(column \d+)\n {9}SELECT .*\n +\^+", r"\1", str(caught.value)) == text
