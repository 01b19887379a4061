"""Which edges of a stream graph join two operators into one chain, and why the others do not.

A chain is what Flink runs as one task. Here it names things: metrics, drawings, errors. Where an
operator runs follows from its exchange level (`penstock.graph.placement`).
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.graph.specs import Forward, Partitioner
from penstock.graph.stream_graph import StreamEdge, StreamGraph
from penstock.graph.transformations import ChainingStrategy


@dataclass(frozen=True)
class ChainVerdict:
    """Whether an edge chains; `reason` says why not."""

    chains: bool
    reason: str = ""


def partitioner_name(partitioner: Partitioner) -> str:
    """Return Flink's word for a partitioner: FORWARD, HASH, REBALANCE ..."""
    return type(partitioner).__name__.upper()


def judge_edge(graph: StreamGraph, edge: StreamEdge) -> ChainVerdict:
    """Decide whether `edge` joins its two operators into one chain."""
    up, down = graph.node(edge.source), graph.node(edge.target)
    if not graph.settings.chaining:
        return ChainVerdict(False, "chaining is switched off for the whole job")
    if not isinstance(edge.partitioner, Forward):
        return ChainVerdict(
            False, f"the edge is partitioned by {partitioner_name(edge.partitioner)}"
        )
    if len(down.in_edges) > 1:
        return ChainVerdict(False, f"{down.name!r} has {len(down.in_edges)} inputs")
    if up.parallelism != down.parallelism:
        return ChainVerdict(
            False, f"parallelism changes from {up.parallelism} to {down.parallelism}"
        )
    if up.slot_sharing_group != down.slot_sharing_group:
        return ChainVerdict(
            False,
            f"slot sharing group changes from {up.slot_sharing_group!r} "
            f"to {down.slot_sharing_group!r}",
        )
    if up.chaining is ChainingStrategy.NEVER:
        return ChainVerdict(False, f"chaining is disabled for {up.name!r}")
    if down.chaining is ChainingStrategy.NEVER:
        return ChainVerdict(False, f"chaining is disabled for {down.name!r}")
    if down.chaining is ChainingStrategy.HEAD:
        return ChainVerdict(False, f"{down.name!r} starts a new chain")
    if not graph.settings.chain_different_max_parallelism:
        return _judge_max_parallelism(up.max_parallelism, down.max_parallelism)
    return ChainVerdict(True)


def _judge_max_parallelism(up: int, down: int) -> ChainVerdict:
    if up != down:
        return ChainVerdict(False, f"maximum parallelism changes from {up} to {down}")
    return ChainVerdict(True)
