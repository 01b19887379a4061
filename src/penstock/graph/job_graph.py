"""The job graph: operators joined into chains, the vertices that Flink would run as tasks."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.graph.chaining import ChainVerdict, judge_edge
from penstock.graph.stream_graph import StreamEdge, StreamGraph, StreamNode


@dataclass(frozen=True)
class JobEdge:
    """An edge between two chains, with the reason for which they are not one."""

    edge: StreamEdge
    source: int  # vertex ids
    target: int
    reason: str


@dataclass(frozen=True)
class JobVertex:
    """A chain. Its id is the id of its first operator."""

    id: int
    name: str
    operators: tuple[StreamNode, ...]
    parallelism: int
    max_parallelism: int


@dataclass(frozen=True)
class JobGraph:
    """All chains of a job, in topological order, and the edges between them."""

    vertices: tuple[JobVertex, ...]
    edges: tuple[JobEdge, ...]

    def vertex_of(self, node_id: int) -> JobVertex:
        """Return the chain that an operator belongs to."""
        return next(v for v in self.vertices if any(n.id == node_id for n in v.operators))


def build_job_graph(graph: StreamGraph) -> JobGraph:
    """Chain the operators of a stream graph."""
    verdicts = {edge.id: judge_edge(graph, edge) for edge in graph.edges()}
    head_of: dict[int, int] = {}
    members: dict[int, list[StreamNode]] = {}
    for node in graph.nodes.values():
        chained = [edge for edge in node.in_edges if verdicts[edge.id].chains]
        head_of[node.id] = head_of[chained[0].source] if chained else node.id
        members.setdefault(head_of[node.id], []).append(node)
    vertices = tuple(
        JobVertex(
            head,
            _chain_name(graph, nodes[0], verdicts),
            tuple(nodes),
            nodes[0].parallelism,
            min(node.max_parallelism for node in nodes),
        )
        for head, nodes in members.items()
    )
    edges = tuple(
        JobEdge(edge, head_of[edge.source], head_of[edge.target], verdicts[edge.id].reason)
        for edge in graph.edges()
        if not verdicts[edge.id].chains
    )
    return JobGraph(vertices, edges)


def _chain_name(graph: StreamGraph, head: StreamNode, verdicts: dict[int, ChainVerdict]) -> str:
    """Return Flink's name of a chain: `A -> B`, and `A -> (B, C -> D)` where it branches."""
    # Two side outputs of an operator can lead to the same next one only through a union, which
    # does not chain: so no operator is named twice.
    parts: list[str] = []
    pending: list[StreamNode | str] = [head]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            parts.append(part)
            continue
        parts.append(part.name)
        followers = [graph.node(e.target) for e in part.out_edges if verdicts[e.id].chains]
        if len(followers) == 1:
            pending += [followers[0], " -> "]
        elif followers:
            pending.append(")")
            for follower in reversed(followers[1:]):
                pending += [follower, ", "]
            pending += [followers[0], " -> ("]
    return "".join(parts)
