"""Queries whose batches are run twice, in other workers, or by a process that starts anew."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.collect import Collector, CollectSink, open_collector
from penstock.datastream.stream_execution_environment import build_plan
from penstock.graph.plan import ExecutionPlan
from penstock.graph.relational.translate import make_translator
from penstock.graph.specs import SinkSpec
from penstock.graph.transformations import OperatorTransformation
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.testing.local_executor import LocalJob

LEFT = "".join(f"{i % 5},{i},2024-01-01 00:00:{i:02d}\n" for i in range(30))
RIGHT = "".join(f"{i % 5},{i * 10},2024-01-01 00:00:{i * 2:02d}\n" for i in range(12))
QUERIES = {
    "aggregate": "SELECT k, COUNT(*) AS c, SUM(v) AS s, COUNT(DISTINCT v) AS d FROM l GROUP BY k",
    "join": "SELECT l.k, l.v, r.w FROM l LEFT JOIN r ON l.k = r.k AND l.v < r.w",
    "aggregate of a join": "SELECT k, COUNT(*) AS c, SUM(w) AS s FROM (SELECT l.k, r.w FROM l "
    "LEFT JOIN r ON l.k = r.k AND l.v < r.w) GROUP BY k",
    "top-n": "SELECT k, v, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) "
    "AS n FROM l) WHERE n <= 2",
    "temporal join": "SELECT l.v, r.w FROM l JOIN r FOR SYSTEM_TIME AS OF l.lt ON l.k = r.k",
    "window": "SELECT k, window_end, SUM(v) FROM TUMBLE(TABLE l, DESCRIPTOR(lt), "
    "INTERVAL '10' SECOND) GROUP BY k, window_start, window_end",
    "hop": "SELECT k, window_end, SUM(v), COUNT(DISTINCT v) FROM HOP(TABLE l, DESCRIPTOR(lt), "
    "INTERVAL '5' SECOND, INTERVAL '15' SECOND) GROUP BY k, window_start, window_end",
    "cumulate": "SELECT k, window_end, SUM(v), COUNT(DISTINCT v) FROM CUMULATE(TABLE l, "
    "DESCRIPTOR(lt), INTERVAL '5' SECOND, INTERVAL '15' SECOND) GROUP BY k, window_start, "
    "window_end",
    "session": "SELECT window_start, COUNT(*) FROM SESSION(TABLE l, DESCRIPTOR(lt), "
    "INTERVAL '5' SECOND) GROUP BY window_start, window_end",
    "over": "SELECT v, SUM(v) OVER (PARTITION BY k ORDER BY lt ROWS BETWEEN 2 PRECEDING AND "
    "CURRENT ROW) FROM l",
    "match": "SELECT * FROM l MATCH_RECOGNIZE (PARTITION BY k ORDER BY lt MEASURES FIRST(a.v) AS f,"
    " SUM(a.v) AS s, b.v AS v AFTER MATCH SKIP TO NEXT ROW PATTERN (a+ b) "
    "WITHIN INTERVAL '20' SECOND DEFINE a AS SUM(a.v) < 40, b AS b.v > LAST(a.v)) AS m",
    "mini-batches": "SELECT c, COUNT(*), MAX(s), COUNT(DISTINCT s) FROM (SELECT k, COUNT(*) AS c, "
    "SUM(DISTINCT v) AS s, LAST_VALUE(v) AS x FROM l GROUP BY k) GROUP BY c",
    "mini-batches in two phases": "SELECT c, COUNT(*), MAX(s), COUNT(DISTINCT s) FROM (SELECT k, "
    "COUNT(*) AS c, SUM(DISTINCT v) AS s FROM l GROUP BY k) GROUP BY c",
}
_BUNDLED = [query for name, query in QUERIES.items() if name.startswith("mini-batches")]


def _planned(query: str, folder: Path, parallelism: int = 2) -> tuple[ExecutionPlan, Collector]:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.target", "in-process")
    t_env.get_config().set("parallelism.default", str(parallelism))
    if query in _BUNDLED:
        t_env.get_config().set("table.exec.mini-batch.enabled", "true")
        t_env.get_config().set("table.exec.mini-batch.allow-latency", "1 s")
        t_env.get_config().set("table.exec.mini-batch.size", "4")
    tables = {
        "l": ("k INT, v INT, lt TIMESTAMP(3), WATERMARK FOR lt AS lt", LEFT),
        "r": ("k INT, w INT, rt TIMESTAMP(3), PRIMARY KEY (k) NOT ENFORCED, "
              "WATERMARK FOR rt AS rt", RIGHT),
    }  # fmt: skip
    for name, (columns, text) in tables.items():
        (folder / f"{name}.csv").write_text(text)
        t_env.execute_sql(
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', "
            f"'path' = '{folder / name}.csv', 'format' = 'csv')"
        )
    planner = t_env._planner
    node = t_env.sql_query(query)._node
    stream, _ = planner.to_stream(node, make_translator(planner.settings()))
    collector = open_collector()
    sink = OperatorTransformation(
        "collect", SinkSpec(CollectSink(collector.id)), [stream], parallelism
    )
    sink.uid, sink.keeps_order = "collect", True
    t_env._env._operators[:] = [sink]
    return build_plan(t_env._env), collector


def _table(collector: Collector) -> Counter[Any]:
    collector.finish()
    table: Counter[Any] = Counter()
    for row in collector:
        table[tuple(row)] += -1 if row.get_row_kind().value & 1 else 1
    assert all(count >= 0 for count in table.values())
    return +table


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_replays_and_restarts_change_nothing(query: str, tmp_path: Path) -> None:
    plan, collector = _planned(query, tmp_path)
    LocalJob(plan, tmp_path / "plain").run()
    expected = _table(collector)
    assert expected

    plan, collector = _planned(query, tmp_path)
    LocalJob(plan, tmp_path / "twice", cuts=4, shuffle=random.Random(7)).run(attempts=("a", "b"))
    assert _table(collector) == expected

    plan, collector = _planned(query, tmp_path)
    job = LocalJob(plan, tmp_path / "again", cuts=3)
    for _ in range(3):
        job.step()
    job.ask()
    job.attempt()  # recorded, and never committed: the process dies here
    LocalJob(plan, tmp_path / "again", cuts=3).run()
    assert _table(collector) == expected


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_savepoint_goes_on_with_another_parallelism(
    query: str, parallelism: int, tmp_path: Path
) -> None:
    plan, collector = _planned(query, tmp_path)
    LocalJob(plan, tmp_path / "plain").run()
    expected = _table(collector)

    plan, collector = _planned(query, tmp_path)
    job = LocalJob(plan, tmp_path / "first", cuts=3)
    for _ in range(2):
        job.step()
    path = job.savepoint(tmp_path / "savepoints", stop=True)
    job.run()
    collector.finish()
    before = list(collector)

    plan, collector = _planned(query, tmp_path, parallelism)
    LocalJob(plan, tmp_path / "second", restore=path).run()
    collector.finish()
    table: Counter[Any] = Counter()
    for row in [*before, *collector]:
        table[tuple(row)] += -1 if row.get_row_kind().value & 1 else 1
        assert table[tuple(row)] >= 0
    assert +table == expected
