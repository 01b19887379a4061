"""Every name of the DataSet API, on lists."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.dataset import DiscardingOutputFormat, ExecutionEnvironment
from tests.unit.dataset.names import PROGRAMS


def _env() -> ExecutionEnvironment:
    return ExecutionEnvironment.create_collections_environment().set_parallelism(2)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program: Callable[[ExecutionEnvironment, Path], None], tmp_path: Path) -> None:
    program(_env(), tmp_path)


def test_what_is_printed_where(capsys: pytest.CaptureFixture[str]) -> None:
    env = _env().set_parallelism(1)
    data = env.from_elements(1, 2)
    data.print()
    data.print_to_err()
    assert capsys.readouterr() == ("1\n2\n", "1\n2\n")
    data.print("mark")
    data.print_on_task_manager("other")
    assert capsys.readouterr().out == ""
    env.execute()
    assert sorted(capsys.readouterr().out.split("\n")) == [
        "", "mark> 1", "mark> 2", "other> 1", "other> 2",
    ]  # fmt: skip


def test_the_plan_of_iterations() -> None:
    env = _env()
    base = env.from_elements(1)
    loop = base.iterate(3)
    side = env.from_elements(7).name("side")
    step = loop.map(lambda n: n + 1).with_broadcast_set(side, "s").name("step")
    result = loop.close_with(step, step.filter(lambda n: n < 3).name("ends"))
    result.map(lambda n: n).output(DiscardingOutputFormat())
    vertices = env.from_elements((1, 1))
    delta = vertices.iterate_delta(vertices, 5, 0)
    changed = delta.get_workset().join_with_tiny(delta.get_solution_set()).where(0).equal_to(0)
    changed = changed.with_(lambda a, b: a).name("changed")
    delta.close_with(changed, changed).output(DiscardingOutputFormat())
    nodes = json.loads(env.get_execution_plan())["nodes"]
    by_type = {node["type"]: node for node in nodes}
    bulk, workset = by_type["bulk_iteration"], by_type["workset_iteration"]
    assert [node["contents"] for node in bulk["step_function"]] == [
        "Bulk Iteration", "step", "ends",
    ]  # fmt: skip
    placeholder, mapped, _ = bulk["step_function"]
    assert (bulk["partial_solution"], bulk["next_partial_solution"]) == (
        placeholder["id"],
        mapped["id"],
    )
    ways = [(each["ship_strategy"], each.get("name")) for each in mapped["predecessors"]]
    assert ways == [("Forward", None), ("Broadcast", "s")]
    # What does not change stands outside, where it is computed once.
    assert "side" in [node["contents"] for node in nodes]
    assert "step" not in [node["contents"] for node in nodes]
    names = {node["id"]: node for node in workset["step_function"]}
    assert {names[workset[key]]["contents"] for key in ("workset", "solution_set")} == {
        "Workset",
        "Solution Set",
    }
    assert workset["next_workset"] == workset["solution_delta"]
    joined = names[workset["solution_delta"]]
    assert [each["ship_strategy"] for each in joined["predecessors"]] == ["Forward", "Broadcast"]
