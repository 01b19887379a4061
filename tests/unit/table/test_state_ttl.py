"""`table.exec.state.ttl`: what a query knows of a silent key is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.connectors.collect import CollectSink, open_collector
from penstock.datastream.stream_execution_environment import build_plan
from penstock.graph.relational.translate import make_translator
from penstock.graph.specs import SinkSpec
from penstock.graph.transformations import OperatorTransformation
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.testing.local_executor import LocalJob

MINI_BATCHES = {"enabled": "true", "allow-latency": "1 s", "size": "10"}


def _changes(
    query: str, ttl: str, folder: Path, step: int, mini_batch: dict[str, str] | None = None
) -> list[str]:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.target", "in-process").set("parallelism.default", "1")
    t_env.get_config().set("table.exec.state.ttl", ttl)
    for name, value in (mini_batch or {}).items():
        t_env.get_config().set(f"table.exec.mini-batch.{name}", value)
    rows = [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    t_env.create_temporary_view("t", t_env.from_elements(rows, ["k", "v"]))
    planner = t_env._planner
    stream, _ = planner.to_stream(t_env.sql_query(query)._node, make_translator(planner.settings()))
    collector = open_collector()
    sink = OperatorTransformation("collect", SinkSpec(CollectSink(collector.id)), [stream], 1)
    t_env._env._operators[:] = [sink]
    now = [1_000_000]

    def clock() -> int:
        return now[0]

    job = LocalJob(build_plan(t_env._env), folder, cuts=1, clock=clock)
    while not job.coordinator.finished.is_set():
        job.step()
        now[0] += step
    job.close()
    collector.finish()
    return [f"{row.get_row_kind()}{tuple(row)}" for row in collector]


GROUPED = "SELECT k, COUNT(*) AS c FROM t GROUP BY k"


@pytest.mark.parametrize("mini_batch", [None, MINI_BATCHES], ids=["rows", "mini-batches"])
def test_a_group_that_was_silent_begins_anew(
    tmp_path: Path, mini_batch: dict[str, str] | None
) -> None:
    assert _changes(GROUPED, "5 s", tmp_path, 10_000, mini_batch) == [
        "+I('a', 1)", "+I('b', 1)", "+I('a', 1)", "+I('b', 1)",
    ]  # fmt: skip


@pytest.mark.parametrize(("ttl", "step"), [("0 ms", 10_000), ("1 min", 10_000)])
def test_a_group_that_is_heard_of_is_kept(tmp_path: Path, ttl: str, step: int) -> None:
    assert _changes(GROUPED, ttl, tmp_path, step)[-1] == "+U('b', 2)"


def test_deduplication_forgets_too(tmp_path: Path) -> None:
    query = (
        "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p) AS rn "
        "FROM (SELECT *, PROCTIME() AS p FROM t)) WHERE rn = 1"
    )
    assert len(_changes(query, "0 ms", tmp_path / "a", step=10_000)) == 2
    assert len(_changes(query, "5 s", tmp_path / "b", step=10_000)) == 4
