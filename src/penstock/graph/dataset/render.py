"""The plan of a DataSet program as JSON, in the form of Flink's `get_execution_plan`."""

from __future__ import annotations

import json
from typing import Any

from penstock.graph.dataset.nodes import (
    CoGroupNode,
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


def to_json(sinks: list[SinkNode], parallelism: int) -> str:
    """Return the plan: every node with its inputs and how records come from them."""
    nodes = [_node(node, parallelism) for node in reachable(sinks)]
    return json.dumps({"nodes": nodes}, indent=2)


def _node(node: Node, parallelism: int) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": node.id,
        "type": _type(node),
        "pact": type(node).__name__.removesuffix("Node"),
        "contents": node.name,
        "parallelism": str(node.parallelism or parallelism),
    }
    if node.site is not None:
        entry["site"] = str(node.site)
    predecessors = [
        {"id": each.id, "ship_strategy": "Broadcast" if each not in node.inputs else _way(node)}
        for each in needs(node)
    ]
    if predecessors:
        entry["predecessors"] = predecessors
    return entry


def _type(node: Node) -> str:
    if isinstance(node, SourceNode):
        return "source"
    return "sink" if isinstance(node, SinkNode) else "pact"


def _way(node: Node) -> str:
    if isinstance(node, PartitionNode):
        return node.kind.value
    if isinstance(node, (JoinNode, CoGroupNode)):
        return f"Hash Partition on {node.keys[0].text} = {node.keys[1].text}"
    if isinstance(node, (ReduceNode, FirstNode, GroupReduceNode)) and node.key is not None:
        return f"Hash Partition on {node.key.text}"
    return "Forward"
