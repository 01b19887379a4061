"""Planner rules and changelog modes, case by case: `tests/cases/plans`."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.graph.relational.planner.rules import rules_for
from penstock.table import ExplainDetail, TableEnvironment
from penstock.table.explain import tree
from tests.plan_cases import PlanCase, read_plan_cases

FOLDER = Path(__file__).parents[2] / "cases" / "plans"
CASES = [case for file in sorted(FOLDER.glob("*.txt")) for case in read_plan_cases(file)]
RULES = rules_for(two_phase=True)
NAMES = [rule.__name__ for rule in RULES]
MODES = "changelog_modes"


def _plans(t_env: TableEnvironment, case: PlanCase) -> tuple[str, str]:
    """Return the plan as the rule is given it, behind the rules in front, and what it makes."""
    node = t_env.sql_query(case.text("query"))._node
    number = NAMES.index(case.rule)
    for rule in RULES[:number]:
        node = rule(node)
    return tree(node), tree(RULES[number](node))


@pytest.mark.parametrize("case", [c for c in CASES if c.rule != MODES], ids=str)
def test_a_rule_makes_the_plan_that_the_case_has(case: PlanCase, tmp_path: Path) -> None:
    before, after = _plans(case.environment(tmp_path), case)
    assert before == case.text("before")
    assert after == case.text("after")


@pytest.mark.parametrize("case", [c for c in CASES if c.rule == MODES], ids=str)
def test_explain_shows_the_changes_of_every_edge(case: PlanCase, tmp_path: Path) -> None:
    t_env = case.environment(tmp_path)
    text = t_env.explain_sql(case.text("query"), ExplainDetail.CHANGELOG_MODE)
    plan = text.partition("== Optimized Physical Plan ==\n")[2].partition("\n\n==")[0]
    assert plan == case.text("modes")


def test_every_rule_has_cases_that_it_changes_and_others() -> None:
    by_rule = {name: [c for c in CASES if c.rule == name] for name in [*NAMES, MODES]}
    assert {case.rule for case in CASES} == set(by_rule)
    changing = {c.rule for c in CASES if c.text("before") != c.text("after")}
    assert changing == set(NAMES)
