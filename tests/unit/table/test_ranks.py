"""RANK and DENSE_RANK OVER rows in the order of time, and functions that a stream has not."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import ValidationError
from penstock.table import EnvironmentSettings, TableEnvironment

ROWS = "1,a,01\n2,b,02\n3,a,03\n4,a,03\n5,b,02\n6,a,09\n"


@pytest.fixture
def t_env(tmp_path: Path) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.target", "in-process").set("parallelism.default", "1")
    file = tmp_path / "t.csv"
    file.write_text(ROWS)
    t_env.execute_sql(
        "CREATE TABLE t (id INT, name STRING, s STRING, ts AS "
        "TO_TIMESTAMP('2024-01-01 00:00:' || s), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND) "
        f"WITH ('connector' = 'filesystem', 'path' = '{file}', 'format' = 'csv')"
    )
    return t_env


@pytest.mark.parametrize(
    ("function", "ranks"),
    [
        # Flink 2.3 counts rows of the same time one by one here; its documentation does not.
        ("RANK", {1: 1, 2: 1, 5: 1, 3: 2, 4: 2, 6: 4}),
        ("DENSE_RANK", {1: 1, 2: 1, 5: 1, 3: 2, 4: 2, 6: 3}),
    ],
)
def test_rows_of_the_same_time_have_the_same_rank(
    t_env: TableEnvironment, function: str, ranks: dict[int, int]
) -> None:
    query = f"SELECT id, {function}() OVER (PARTITION BY name ORDER BY ts) FROM t"
    assert dict(map(tuple, t_env.execute_sql(query).collect())) == ranks


def test_a_function_of_the_whole_partition_is_refused(t_env: TableEnvironment) -> None:
    with pytest.raises(ValidationError) as caught:
        t_env.explain_sql("SELECT NTILE(2) OVER (PARTITION BY name ORDER BY ts) FROM t")
    assert str(caught.value) == (
        "NTILE() is not computed on a stream\n"
        "  got:   NTILE(2)\n"
        "  to do: use ROW_NUMBER, RANK, DENSE_RANK or an aggregate OVER rows ordered by time"
    )
