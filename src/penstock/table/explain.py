"""Plans as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.graph.relational.algebra import Node
from penstock.graph.relational.changelog import Changes, kinds_of
from penstock.graph.relational.planner.rules import optimise
from penstock.graph.relational.translate import make_translator
from penstock.graph.relational.translator import Translator

if TYPE_CHECKING:
    from penstock.table.planning import Planner
    from penstock.table.table_environment import TableEnvironment


def explain(t_env: TableEnvironment, roots: Sequence[Any], details: Sequence[str] = ()) -> str:
    """Return the plans of queries, and of inserts `(node, sink)`: as written, and optimised.

    :param details: CHANGELOG_MODE adds the kinds of changes of every edge.
    """
    planner = t_env._planner
    translator = make_translator(planner.settings())
    nodes = [root[0] if isinstance(root, tuple) else root for root in roots]
    plans = [optimise(node, two_phase=translator.settings.two_phase) for node in nodes]
    levels = _levels(planner, roots, translator)
    changes = translator.changes if "CHANGELOG_MODE" in details else None
    written = "\n".join(tree(node) for node in nodes)
    optimised = "\n".join(tree(plan, changes=changes) for plan in plans)
    return (
        f"== Abstract Syntax Tree ==\n{written}\n\n"
        f"== Optimized Physical Plan ==\n{optimised}\n\n"
        f"== Optimized Execution Plan ==\n{levels}"
    )


def tree(node: Node, depth: int = 0, changes: Mapping[Node, Changes] | None = None) -> str:
    """Return a plan as an indented tree.

    :param changes: what the outputs of nodes carry, to be shown as well.
    """
    lead = "" if depth == 0 else "   " * (depth - 1) + "+- "
    parts = [text for text in (node.describe(), node.found()) if text]
    if changes is not None:
        # What is put in order behind the plan, in BATCH mode, is not among the operators.
        carried = changes[node] if node in changes else Changes(kinds_of(node))
        parts.append(f"changelogMode={carried}")
    lines = [f"{lead}{node.title()}({', '.join(parts)})"]
    lines += [tree(source, depth + 1, changes) for source in node.inputs()]
    return "\n".join(lines)


def _levels(planner: Planner, roots: Sequence[Any], translator: Translator) -> str:
    """Return the operators of a job, level by level."""
    ends: list[Any] = []
    for root in roots:
        if isinstance(root, tuple):
            ends += planner.insert_operators([root], translator)
        else:
            ends.append(planner.to_stream(root, translator)[0])
    return planner.plan_text(ends)
