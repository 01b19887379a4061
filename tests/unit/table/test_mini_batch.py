"""Mini-batches and aggregates in two phases: settings, plans, functions of the user, state TTL.

What they give is recorded from Flink in `tests/cases/sql/mini_batch.txt`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.core.functions.user_defined import AggregateFunction
from penstock.errors import ConfigurationError
from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.udf import udaf

_ROW = DataTypes.ROW(
    [DataTypes.FIELD("k", DataTypes.STRING()), DataTypes.FIELD("v", DataTypes.BIGINT())]
)
_ROWS = [("a", 1), ("b", 2), ("a", 3), ("b", 4), ("a", 5)]


def _environment(**settings: str) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    config = t_env.get_config()
    config.set("execution.target", "in-process").set("parallelism.default", "1")
    config.set("table.exec.mini-batch.enabled", "true")
    for name, value in settings.items():
        config.set(f"table.exec.mini-batch.{name.replace('_', '-')}", value)
    t_env.create_temporary_view("t", t_env.from_elements(_ROWS, _ROW))
    return t_env


def _changes(t_env: TableEnvironment, query: str) -> list[str]:
    return [f"{row.get_row_kind()}{tuple(row)}" for row in t_env.execute_sql(query).collect()]


def _plan(t_env: TableEnvironment, query: str) -> str:
    text = t_env.explain_sql(query)
    return text.partition("== Optimized Physical Plan ==")[2].partition("== Optimized Exec")[0]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"size": "10"},
            "mini-batches need 'table.exec.mini-batch.allow-latency' to be greater than zero\n"
            "  got:   it is not set\n"
            "  to do: set it, for instance to '5 s', or switch 'table.exec.mini-batch.enabled' off",
        ),
        (
            {"allow_latency": "1 s", "size": "0"},
            "mini-batches need 'table.exec.mini-batch.size' to be greater than zero\n"
            "  got:   '0'\n"
            "  to do: set it, for instance to '5000', or switch "
            "'table.exec.mini-batch.enabled' off",
        ),
    ],
)
def test_mini_batches_that_are_not_described_are_refused(
    settings: dict[str, str], text: str
) -> None:
    with pytest.raises(ConfigurationError) as error:
        _environment(**settings).execute_sql("SELECT k, COUNT(*) FROM t GROUP BY k")
    assert str(error.value) == text


def test_a_mini_batch_ends_with_the_batch_at_the_latest() -> None:
    t_env = _environment(size="1000", allow_latency="1 h")
    assert _changes(t_env, "SELECT k, SUM(v) FROM t GROUP BY k") == ["+I('a', 9)", "+I('b', 6)"]


def test_batch_mode_takes_no_notice_of_mini_batches() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("execution.target", "in-process")
    t_env.get_config().set("table.exec.mini-batch.enabled", "true")
    t_env.create_temporary_view("t", t_env.from_elements(_ROWS, _ROW))
    rows = t_env.execute_sql("SELECT k, SUM(v) FROM t GROUP BY k").collect()
    assert Counter(map(tuple, rows)) == Counter([("a", 9), ("b", 6)])


class Total(AggregateFunction):
    """A sum whose accumulators cannot be merged."""

    def create_accumulator(self) -> Any:
        return [0]

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator[0] += args[0]

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0]


class MergedTotal(Total):
    def merge(self, accumulator: Any, accumulators: Any) -> None:
        for other in accumulators:
            accumulator[0] += other[0]


@pytest.mark.parametrize(("function", "phases"), [(Total, 1), (MergedTotal, 2)])
def test_a_function_of_the_user_is_split_if_it_can_merge(function: type, phases: int) -> None:
    t_env = _environment(size="2", allow_latency="1 s")
    t_env.create_temporary_function("total", udaf(function(), result_type=DataTypes.BIGINT()))
    query = "SELECT k, total(v) FROM t GROUP BY k"
    assert ("LocalGroupAggregate" in _plan(t_env, query)) == (phases == 2)
    table: Counter[str] = Counter()
    for change in _changes(t_env, query):
        table[change[2:]] += 1 if change[0] == "+" else -1
    assert +table == Counter(["('a', 9)", "('b', 6)"])


@pytest.mark.parametrize(("function", "shared"), [(Total, False), (MergedTotal, True)])
@pytest.mark.parametrize("window", ["HOP", "CUMULATE"])
def test_a_function_of_the_user_shares_slices_if_it_can_merge(
    function: type, shared: bool, window: str, tmp_path: Path
) -> None:
    t_env = _environment(size="2", allow_latency="1 s")
    t_env.create_temporary_function("total", udaf(function(), result_type=DataTypes.BIGINT()))
    lines = [f"{'ab'[i % 2]},{i},2024-01-01 00:00:{i * 3:02d}\n" for i in range(15)]
    (tmp_path / "e.csv").write_text("".join(lines))
    t_env.execute_sql(
        "CREATE TABLE e (k STRING, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH "
        f"('connector' = 'filesystem', 'path' = '{tmp_path / 'e.csv'}', 'format' = 'csv')"
    )
    query = (
        f"SELECT k, total(v), SUM(v) FROM {window}(TABLE e, DESCRIPTOR(ts), INTERVAL '5' SECOND, "
        "INTERVAL '15' SECOND) GROUP BY k, window_start, window_end"
    )
    assert ("slices=" in _plan(t_env, query)) == shared
    rows = [tuple(row) for row in t_env.execute_sql(query).collect()]
    assert len(rows) > 15
    assert [total for _, total, _ in rows] == [total for _, _, total in rows]
