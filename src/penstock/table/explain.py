"""Plans as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.graph.relational.algebra import Node
from penstock.graph.relational.changelog import Changes, kinds_of
from penstock.graph.relational.planner.rules import optimise
from penstock.graph.relational.translate import make_translator

if TYPE_CHECKING:
    from penstock.table.table_environment import TableEnvironment


def explain(t_env: TableEnvironment, roots: Sequence[Any], details: Sequence[str] = ()) -> str:
    """Return the plans of queries, and of inserts `(node, sink)`: as written, and optimised.

    :param details: CHANGELOG_MODE adds the kinds of changes of every edge.
    """
    nodes = [root[0] if isinstance(root, tuple) else root for root in roots]
    plans = [optimise(node) for node in nodes]
    with_changes = "CHANGELOG_MODE" in details
    written = "\n".join(tree(node) for node in nodes)
    optimised = "\n".join(tree(plan, with_changes=with_changes) for plan in plans)
    levels = levels_text(t_env, roots)
    return (
        f"== Abstract Syntax Tree ==\n{written}\n\n"
        f"== Optimized Physical Plan ==\n{optimised}\n\n"
        f"== Optimized Execution Plan ==\n{levels}"
    )


def tree(node: Node, depth: int = 0, with_changes: bool = False) -> str:
    """Return a plan as an indented tree."""
    lead = "" if depth == 0 else "   " * (depth - 1) + "+- "
    text = node.describe()
    if with_changes:
        text = (
            f"{text}, changelogMode={Changes(kinds_of(node))}"
            if text
            else (f"changelogMode={Changes(kinds_of(node))}")
        )
    lines = [f"{lead}{node.title()}({text})"]
    lines += [tree(source, depth + 1, with_changes) for source in node.inputs()]
    return "\n".join(lines)


def levels_text(t_env: TableEnvironment, roots: Sequence[Any]) -> str:
    """Return the operators of a job, level by level."""
    planner = t_env._planner
    translator = make_translator(planner.settings())
    ends: list[Any] = []
    for root in roots:
        if isinstance(root, tuple):
            ends += planner.insert_operators([root], translator)
        else:
            ends.append(planner.to_stream(root, translator)[0])
    return planner.plan_text(ends)
