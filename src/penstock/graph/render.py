"""Graphs and plans as text: Flink's JSON, and listings for people."""

from __future__ import annotations

import json
from typing import Any

from penstock.graph.chaining import partitioner_name
from penstock.graph.job_graph import JobGraph
from penstock.graph.plan import ExecutionPlan, PlanEdge, PlanOperator
from penstock.graph.stream_graph import StreamEdge, StreamGraph, StreamNode


def to_json(graph: StreamGraph) -> str:
    """Return a stream graph in the JSON format of Flink's `getExecutionPlan`."""
    nodes = [_json_node(node) for node in graph.nodes.values()]
    return json.dumps({"nodes": nodes}, indent=2)


def to_text(plan: ExecutionPlan) -> str:
    """Return a plan level by level: what runs together, and how records come to it."""
    lines: list[str] = []
    for level in range(plan.levels + 1):
        lines.append(_level_title(plan, level))
        lines += [f"  {_describe(operator)}" for operator in plan.at_level(level)]
    return "\n".join(lines)


def job_graph_to_text(graph: JobGraph) -> str:
    """Return the chains of a job, and for each edge between two of them why they are not one."""
    lines: list[str] = []
    for vertex in graph.vertices:
        lines.append(f"[{vertex.id}] {vertex.name} (parallelism {vertex.parallelism})")
        lines += [
            f"  <- {partitioner_name(edge.edge.partitioner)} [{edge.source}]: {edge.reason}"
            for edge in graph.edges
            if edge.target == vertex.id
        ]
    return "\n".join(lines)


def edge_label(edge: PlanEdge) -> str:
    """Return how records of an edge travel: its partitioner, and its side output if it is one."""
    label = partitioner_name(edge.partitioner)
    return f"{label} '{edge.output_tag}'" if edge.output_tag is not None else label


def _json_node(node: StreamNode) -> dict[str, Any]:
    pact = "Data Source" if node.is_source() else "Data Sink" if node.is_sink() else "Operator"
    content: dict[str, Any] = {
        "id": node.id,
        "type": node.name,
        "pact": pact,
        "contents": node.description or node.name,
        "parallelism": node.parallelism,
    }
    if node.in_edges:
        content["predecessors"] = [_json_edge(edge) for edge in node.in_edges]
    return content


def _json_edge(edge: StreamEdge) -> dict[str, Any]:
    return {
        "id": edge.source,
        "ship_strategy": partitioner_name(edge.partitioner),
        "side": "second" if edge.input_index else "first",
    }


def _level_title(plan: ExecutionPlan, level: int) -> str:
    if level == 0:
        return "level 0: in the readers of the sources"
    return f"level {level}: in {plan.slots} {'slot' if plan.slots == 1 else 'slots'}"


def _describe(operator: PlanOperator) -> str:
    text = f"[{operator.id}] {operator.name} (parallelism {operator.parallelism})"
    if operator.inputs:
        text += " <- " + ", ".join(
            f"{edge_label(edge)} [{edge.source}]" for edge in operator.inputs
        )
    return text
