"""The plan of a DataSet program as JSON, in the form of Flink's `get_execution_plan`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from penstock.core.batch.options import CrossHint
from penstock.graph.dataset.nodes import (
    BulkIterationNode,
    CoGroupNode,
    CrossNode,
    DeltaIterationNode,
    EachNode,
    FirstNode,
    GroupReduceNode,
    JoinNode,
    Node,
    PartitionNode,
    ReduceNode,
    SinkNode,
    SourceNode,
    needs,
    reachable,
)

_TYPES: dict[type[Node], str] = {
    SourceNode: "source",
    SinkNode: "sink",
    BulkIterationNode: "bulk_iteration",
    DeltaIterationNode: "workset_iteration",
}
_PACTS: dict[type[Node], str] = {
    SourceNode: "Data Source",
    SinkNode: "Data Sink",
    BulkIterationNode: "Bulk Iteration",
    DeltaIterationNode: "Workset Iteration",
}


def to_json(sinks: list[SinkNode], parallelism: int) -> str:
    """Return the plan: every node with its inputs and how records come from them.

    What an iteration repeats is under its `step_function`, as in Flink.
    """
    return json.dumps({"nodes": _nodes(sinks, parallelism, set())}, indent=2)


def _nodes(targets: Sequence[Node], parallelism: int, outside: set[int]) -> list[dict[str, Any]]:
    """Return the entries of some nodes and of what they need; `outside`: entered elsewhere."""
    everything = [node for node in reachable(targets) if node.id not in outside]
    repeated = {number for node in everything for number in _step(node)}
    shown = [node for node in everything if node.id not in repeated]
    known = outside | {node.id for node in shown}
    return [_entry(node, parallelism, known) for node in shown]


def _step(node: Node) -> set[int]:
    """Return the nodes that an iteration computes anew in each step."""
    inner: set[int] = set()
    for each in reachable(_ends(node)):  # inputs come first, so one look at each is enough
        if each in _placeholders(node) or any(need.id in inner for need in needs(each)):
            inner.add(each.id)
    return inner


def _placeholders(node: Node) -> list[Node]:
    if isinstance(node, BulkIterationNode):
        return [node.placeholder]
    return [node.solution, node.workset] if isinstance(node, DeltaIterationNode) else []


def _ends(node: Node) -> list[Node]:
    if isinstance(node, BulkIterationNode):
        return [node.result] + ([] if node.termination is None else [node.termination])
    return [node.delta, node.next_workset] if isinstance(node, DeltaIterationNode) else []


def _entry(node: Node, parallelism: int, known: set[int]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": node.id,
        "type": _TYPES.get(type(node), "pact"),
        "pact": _PACTS.get(type(node), _operation(node)),
        "contents": node.name,
        "parallelism": str(node.parallelism or parallelism),
    }
    if node.site is not None:
        entry["site"] = str(node.site)
    if isinstance(node, BulkIterationNode):
        entry["step_function"] = _nodes(_ends(node), parallelism, known)
        entry["partial_solution"] = node.placeholder.id
        entry["next_partial_solution"] = node.result.id
    elif isinstance(node, DeltaIterationNode):
        entry["step_function"] = _nodes(_ends(node), parallelism, known)
        entry["workset"], entry["solution_set"] = node.workset.id, node.solution.id
        entry["next_workset"], entry["solution_delta"] = node.next_workset.id, node.delta.id
    predecessors = [
        {"id": each.id, "ship_strategy": _way(node, side)} for side, each in enumerate(node.inputs)
    ]
    predecessors += [
        {"id": each.id, "ship_strategy": "Broadcast", "name": name}
        for name, each in node.broadcast.items()
    ]
    if predecessors:
        entry["predecessors"] = predecessors
    return entry


def _operation(node: Node) -> str:
    if isinstance(node, EachNode):
        return "".join(word.capitalize() for word in node.kind.value.split("_"))
    if isinstance(node, GroupReduceNode):
        return "GroupCombine" if node.combine_only else "GroupReduce"
    return type(node).__name__.removesuffix("Node")


def _way(node: Node, side: int) -> str:
    """Say how the records of one input come to a node."""
    if isinstance(node, PartitionNode):
        return node.kind.value
    if isinstance(node, JoinNode) and node.broadcast_side is not None:
        return "Broadcast" if node.broadcast_side == side else "Forward"
    if isinstance(node, (JoinNode, CoGroupNode)):
        return f"Hash Partition on {node.keys[side].text}"
    if isinstance(node, CrossNode):
        small = 0 if node.hint is CrossHint.FIRST_IS_SMALL else 1
        return "Broadcast" if side == small else "Forward"
    if isinstance(node, GroupReduceNode) and node.combine_only:
        return "Forward"
    if isinstance(node, (ReduceNode, FirstNode, GroupReduceNode)):
        return "Gather" if node.key is None else f"Hash Partition on {node.key.text}"
    return "Forward"
