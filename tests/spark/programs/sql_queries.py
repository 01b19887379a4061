"""Queries with state of every kind, as one job: an aggregate, a join, Top-N, a temporal join.

The driver dies in mid-query if it is told to.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from penstock.table import DataTypes, EnvironmentSettings, StatementSet, TableEnvironment
from penstock.table.udf import ScalarFunction, udf

TABLES = {
    "l": "k INT, v INT, lt TIMESTAMP(3), WATERMARK FOR lt AS lt - INTERVAL '1' HOUR",
    "r": "k INT, w INT, rt TIMESTAMP(3), PRIMARY KEY (k) NOT ENFORCED, "
    "WATERMARK FOR rt AS rt - INTERVAL '1' HOUR",
}
QUERIES = {
    "aggregate": (
        "k INT, c BIGINT, s INT, d BIGINT",
        "SELECT k, COUNT(*), SUM(v), COUNT(DISTINCT v) FROM (SELECT k, die(v) AS v FROM l) "
        "GROUP BY k",
    ),
    "joined": (
        "k INT, v INT, w INT",
        "SELECT l.k, l.v, r.w FROM l LEFT JOIN r ON l.k = r.k AND l.v < r.w",
    ),
    "top": (
        "k INT, v INT, n BIGINT",
        "SELECT k, v, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS n "
        "FROM l) WHERE n <= 2",
    ),
    "temporal": (
        "v INT, w INT",
        "SELECT l.v, r.w FROM l JOIN r FOR SYSTEM_TIME AS OF l.lt ON l.k = r.k",
    ),
}  # fmt: skip
FATAL = 45


class Die(ScalarFunction):
    """Kill the driver, once, when a row comes."""

    def __init__(self, marker: Path, driver: int) -> None:
        self.marker = marker
        self.driver = driver

    def eval(self, value: int) -> int:
        if value == FATAL and self.marker.exists():
            self.marker.unlink()
            os.kill(self.driver, signal.SIGKILL)
            signal.pause()
        return value


def lines(first: int, last: int) -> dict[str, str]:
    """Return the rows of a span of time, by table."""
    left = [f"{i % 5},{i},{_time(i)}\n" for i in range(first, last)]
    right = [f"{i % 5},{i * 3 % 50},{_time(i)}\n" for i in range(first, last, 3)]
    return {"l": "".join(left), "r": "".join(right)}


def _time(second: int) -> str:
    return f"2024-01-01 00:{second // 60:02d}:{second % 60:02d}"


def inserts(
    t_env: TableEnvironment, folder: Path, out: Path, interval: str | None = None
) -> StatementSet:
    """Return the queries over a folder's files, whose results go to another."""
    die = udf(Die(out / "fatal", os.getpid()), result_type=DataTypes.INT())
    t_env.create_temporary_function("die", die)
    for name, columns in TABLES.items():
        watched = f", 'source.monitor-interval' = '{interval}'" if interval else ""
        t_env.execute_sql(
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', "
            f"'path' = '{folder / name}', 'format' = 'csv'{watched})"
        )
    together = t_env.create_statement_set()
    for name, (columns, query) in QUERIES.items():
        t_env.execute_sql(
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', "
            f"'path' = '{out / name}', 'format' = 'canal-json', "
            "'sink.rolling-policy.rollover-interval' = '1 s')"
        )
        together.add_insert_sql(f"INSERT INTO {name} {query}")
    return together


def results(out: Path) -> dict[str, Counter[Any]]:
    """Return the tables that the changes in the files give."""
    found: dict[str, Counter[Any]] = {name: Counter() for name in QUERIES}
    for name, table in found.items():
        for file in (out / name).rglob("part-*"):
            for line in file.read_text().splitlines():
                change = json.loads(line)
                row = tuple(change["data"][0].values())
                table[row] += 1 if change["type"] == "INSERT" else -1
        found[name] = Counter({row: count for row, count in table.items() if count})
    return found


def main() -> None:
    folder, out, target = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = {
        "execution.target": target,
        "execution.checkpointing.dir": str(out / "checkpoints"),
        "penstock.master": "local[2]",
        "penstock.batch.max-records": "20",
        "parallelism.default": "2",
        "pipeline.name": "queries",
    }
    for key, value in settings.items():
        t_env.get_config().set(key, value)
    inserts(t_env, folder, out).execute().wait()


if __name__ == "__main__":
    main()
