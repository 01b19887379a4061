"""Operators that share a key share a level; others are parted anew."""

from __future__ import annotations

import pytest

from penstock.graph.relational.translate import make_translator
from penstock.graph.specs import Hash
from penstock.table import EnvironmentSettings, TableEnvironment

_COUNTS = "(SELECT a, COUNT(*) AS n FROM t GROUP BY a)"
_SUMS = "(SELECT x, SUM(y) AS s FROM u GROUP BY x)"


def levels(query: str, **options: str) -> int:
    """Return how many levels a query has behind its sources."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    config = t_env.get_config()
    config.set("parallelism.default", "2")
    for key, value in options.items():
        config.set(key.replace("_", "."), value)
    for name, columns in (("t", "a INT, b INT, at TIMESTAMP(3)"), ("u", "x INT, y INT")):
        watermark = ", WATERMARK FOR at AS at" if "at" in columns.split() else ""
        t_env.execute_sql(
            f"CREATE TABLE {name} ({columns}{watermark}) WITH ('connector' = 'datagen')"
        )
    plan = t_env.sql_query(query).explain().partition("Optimized Execution Plan")[2]
    return max(int(line.split()[1].rstrip(":")) for line in plan.splitlines() if "level" in line)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, COUNT(*) FROM t JOIN u ON a = x GROUP BY a",
        "SELECT x, COUNT(*) FROM t JOIN u ON a = x GROUP BY x",
        "SELECT a, COUNT(*) FROM t LEFT JOIN u ON a = x GROUP BY a",
        "SELECT x, COUNT(*) FROM t RIGHT JOIN u ON a = x GROUP BY x",
        f"SELECT n, s FROM {_COUNTS} JOIN {_SUMS} ON a = x",
        f"SELECT n, y FROM {_COUNTS} JOIN u ON a = x",
        f"SELECT a, MAX(n) FROM (SELECT n + 1 AS n, a FROM {_COUNTS}) GROUP BY a",
        "SELECT a, b, COUNT(*) FROM t JOIN u ON a = x AND b = y GROUP BY a, b",
        "SELECT * FROM t WHERE a IN (SELECT x FROM u)",
        "SELECT a, SUM(b) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS n "
        "FROM t) WHERE n < 4 GROUP BY a",
        "SELECT a, MAX(c) FROM (SELECT a, window_end, COUNT(*) AS c FROM TUMBLE(TABLE t, "
        "DESCRIPTOR(at), INTERVAL '5' SECOND) GROUP BY a, window_start, window_end) GROUP BY a",
    ],
)
def test_one_level(query: str) -> None:
    assert levels(query) == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT b, COUNT(*) FROM t JOIN u ON a = x GROUP BY b",
        # The column is NULL where the other side has no row: such rows are elsewhere.
        "SELECT x, COUNT(*) FROM t LEFT JOIN u ON a = x GROUP BY x",
        "SELECT a, COUNT(*) FROM t FULL JOIN u ON a = x GROUP BY a",
        # A key of the same columns in another order has another hash.
        "SELECT b, a, COUNT(*) FROM t JOIN u ON a = x AND b = y GROUP BY b, a",
        f"SELECT m, COUNT(*) FROM (SELECT a + 1 AS m FROM {_COUNTS}) GROUP BY m",
        f"SELECT COUNT(*) FROM {_COUNTS}",
    ],
)
def test_parted_anew(query: str) -> None:
    assert levels(query) == 2


def test_the_second_phase_of_an_aggregate_stays_where_its_rows_are() -> None:
    options = {
        "table_exec_mini-batch_enabled": "true",
        "table_exec_mini-batch_allow-latency": "1 s",
        "table_exec_mini-batch_size": "10",
        "table_optimizer_agg-phase-strategy": "TWO_PHASE",
    }
    assert levels("SELECT a, COUNT(*) FROM t JOIN u ON a = x GROUP BY a", **options) == 1


@pytest.mark.parametrize(("column", "immutable"), [("a", True), ("ARRAY[a]", False)])
def test_rows_with_values_that_can_change_are_looked_at(column: str, immutable: bool) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.create_temporary_view("t", t_env.from_elements([(1,)], ["a"]))
    rows = t_env.sql_query(f"SELECT a AS k, {column} AS v FROM t")
    planner = t_env._planner
    translator = make_translator(planner.settings())
    done, _ = planner.translated(rows._node, translator)
    partitioner = translator.keyed(done.source, (0,)).partitioner
    assert isinstance(partitioner, Hash) and partitioner.immutable is immutable
