"""Turn transformations into a stream graph: operators, and edges with their partitioners."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.core.key_groups import default_max_parallelism
from penstock.errors import GraphError
from penstock.graph.specs import (
    CallSite,
    Forward,
    Hash,
    OperatorSpec,
    Partitioner,
    Rebalance,
    SinkFunctionSpec,
    SinkSpec,
    SourceSpec,
)
from penstock.graph.transformations import (
    ChainingStrategy,
    OperatorTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
)
from penstock.graph.uids import assign_uids

DEFAULT_SLOT_SHARING_GROUP = "default"


@dataclass(frozen=True)
class GraphSettings:
    """What an environment says about a job as a whole."""

    job_name: str = "Penstock Streaming Job"
    #: STREAMING, BATCH or AUTOMATIC.
    runtime_mode: str = "STREAMING"
    chaining: bool = True
    chain_different_max_parallelism: bool = True
    max_parallelism: int | None = None
    auto_uids: bool = True
    #: The job's whole configuration, by key.
    configuration: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StreamEdge:
    """How records of one operator reach another."""

    id: int
    source: int
    target: int
    input_index: int
    partitioner: Partitioner
    output_tag: str | None = None
    #: Declared type of the records of a side output.
    tag_type: TypeInformation | None = None


@dataclass
class StreamNode:
    """One operator with everything that was said about it, defaults filled in."""

    id: int
    name: str
    spec: OperatorSpec
    parallelism: int
    max_parallelism: int
    site: CallSite | None
    chaining: ChainingStrategy
    own_max_parallelism: bool = False
    user_uid: str | None = None
    uid_hash: str | None = None
    uid: str = ""
    slot_sharing_group: str = DEFAULT_SLOT_SHARING_GROUP
    description: str | None = None
    output_type: Any = None
    in_edges: list[StreamEdge] = field(default_factory=list)
    out_edges: list[StreamEdge] = field(default_factory=list)

    def is_source(self) -> bool:
        """Return whether the node is one of the job's sources."""
        return isinstance(self.spec, SourceSpec)

    def is_sink(self) -> bool:
        """Return whether records end here."""
        return isinstance(self.spec, (SinkSpec, SinkFunctionSpec))

    def describe(self) -> str:
        """Return name and place, for error messages."""
        return f"{self.name!r}, built at {self.site}" if self.site else repr(self.name)


@dataclass
class StreamGraph:
    """All operators of a job by id, inputs before their users, ids from 1 without gaps."""

    settings: GraphSettings
    nodes: dict[int, StreamNode]
    batch_mode: bool = False

    def edges(self) -> Iterator[StreamEdge]:
        """Return all edges, ordered by target."""
        for node in self.nodes.values():
            yield from node.in_edges

    def node(self, node_id: int) -> StreamNode:
        """Return a node by id."""
        return self.nodes[node_id]


@dataclass(frozen=True)
class _Way:
    """What stands between an operator and one that it feeds."""

    partitioner: Partitioner | None = None
    tag_id: str | None = None
    tag_type: TypeInformation | None = None


@dataclass(frozen=True)
class _Upstream(_Way):
    """An operator that feeds another one, and what stands between the two."""

    operator: OperatorTransformation = field(kw_only=True)


def build_stream_graph(
    roots: Sequence[OperatorTransformation], settings: GraphSettings
) -> StreamGraph:
    """Return the stream graph of everything that `roots` need.

    :raises GraphError: if the operators do not form a job.
    """
    if not roots:
        raise GraphError(
            "No operators defined in streaming topology. Cannot execute.",
            todo="add at least one operator or sink, for instance stream.print(), before execute()",
        )
    operators = [t for t in _reachable(roots) if isinstance(t, OperatorTransformation)]
    numbers = {operator.id: number for number, operator in enumerate(operators, start=1)}
    graph = StreamGraph(settings, {})
    parallelism: dict[int, int] = {}
    for operator in operators:
        parallelism[operator.id] = _parallelism_of(operator, parallelism)
        graph.nodes[numbers[operator.id]] = _make_node(
            numbers[operator.id], operator, parallelism[operator.id], settings
        )
    _connect(graph, operators, numbers)
    _inherit_slot_sharing_groups(graph, operators, numbers)
    graph.batch_mode = _resolve_batch_mode(graph)
    _check_iterations(graph)
    assign_uids(graph.nodes.values(), auto_uids=settings.auto_uids)
    return graph


def _reachable(roots: Iterable[Transformation]) -> list[Transformation]:
    found: dict[int, Transformation] = {}
    pending = list(roots)
    while pending:
        transformation = pending.pop()
        if transformation.id not in found:
            found[transformation.id] = transformation
            pending.extend(transformation.inputs)
    # An input is always made before what reads it, so the order of ids is a topological one.
    return [found[key] for key in sorted(found)]


def _parallelism_of(operator: OperatorTransformation, known: dict[int, int]) -> int:
    """Return the parallelism of an operator, given those of all in front of it."""
    if operator.keeps_order and not operator.parallelism_is_own:
        sources = [up for source in operator.inputs for up in _resolve(source)]
        levels = {known[up.operator.id] for up in sources if up.partitioner is None}
        if levels:
            return levels.pop() if len(levels) == 1 else 1
    if operator.follows_input and not operator.parallelism_is_own:
        upstreams = [up for source in operator.inputs for up in _resolve(source)]
        if len(upstreams) == 1 and upstreams[0].partitioner is None:
            (upstream,) = upstreams
            if known[upstream.operator.id] == 1:
                return 1
    return operator.parallelism


def _make_node(
    number: int, operator: OperatorTransformation, parallelism: int, settings: GraphSettings
) -> StreamNode:
    prefix = ""
    if isinstance(operator.spec, SourceSpec):
        prefix = "Source: "
    elif isinstance(operator.spec, (SinkSpec, SinkFunctionSpec)):
        prefix = "Sink: "
    max_parallelism = operator.max_parallelism or settings.max_parallelism
    node = StreamNode(
        id=number,
        name=prefix + operator.name,
        spec=operator.spec,
        parallelism=parallelism,
        max_parallelism=max_parallelism or default_max_parallelism(parallelism),
        site=operator.site,
        chaining=operator.chaining,
        own_max_parallelism=max_parallelism is not None,
        user_uid=operator.uid,
        uid_hash=operator.uid_hash,
        description=operator.description,
        output_type=operator.output_type,
    )
    if node.parallelism > node.max_parallelism:
        raise GraphError(
            "the parallelism of an operator must not exceed its maximum parallelism",
            where=node.describe(),
            got=f"parallelism {node.parallelism}, maximum parallelism {node.max_parallelism}",
            todo="lower the parallelism, or call set_max_parallelism with a larger number",
        )
    return node


def _connect(
    graph: StreamGraph, operators: list[OperatorTransformation], numbers: dict[int, int]
) -> None:
    edge_id = 0
    for operator in operators:
        target = graph.nodes[numbers[operator.id]]
        for input_index, source in enumerate(operator.inputs):
            for upstream in _resolve(source):
                node = graph.nodes[numbers[upstream.operator.id]]
                partitioner = _choose_partitioner(node, target, upstream.partitioner)
                edge = StreamEdge(
                    edge_id,
                    node.id,
                    target.id,
                    input_index,
                    partitioner,
                    upstream.tag_id,
                    upstream.tag_type,
                )
                node.out_edges.append(edge)
                target.in_edges.append(edge)
                edge_id += 1


def _resolve(transformation: Transformation) -> list[_Upstream]:
    """Return the operators behind a transformation, through unions and partitionings."""
    # With a list of its own: a program may unite streams a thousand times over.
    found: list[_Upstream] = []
    pending = [(transformation, _Way())]
    while pending:
        at, way = pending.pop()
        if isinstance(at, OperatorTransformation):
            found.append(_Upstream(way.partitioner, way.tag_id, way.tag_type, operator=at))
            continue
        # What stands nearer to the reader counts.
        if isinstance(at, PartitionTransformation):
            way = replace(way, partitioner=way.partitioner or at.partitioner)
        elif isinstance(at, SideOutputTransformation) and way.tag_id is None:
            way = _Way(way.partitioner, at.tag_id, at.output_type)
        pending += [(source, way) for source in reversed(at.inputs)]
    return found


def _choose_partitioner(
    source: StreamNode, target: StreamNode, wanted: Partitioner | None
) -> Partitioner:
    if wanted is None:
        return Forward() if source.parallelism == target.parallelism else Rebalance()
    if isinstance(wanted, Hash) and wanted.settled:
        here, there = ((node.parallelism, node.max_parallelism) for node in (source, target))
        return wanted if here == there else replace(wanted, settled=False)
    if isinstance(wanted, Forward) and source.parallelism != target.parallelism:
        raise GraphError(
            "forward partitioning does not allow a change of parallelism",
            where=target.describe(),
            got=f"{source.name!r} with parallelism {source.parallelism} in front of "
            f"{target.name!r} with parallelism {target.parallelism}",
            todo="give both the same parallelism, or use rebalance(), rescale(), shuffle(), "
            "broadcast() or global_() instead of forward()",
        )
    return wanted


def _inherit_slot_sharing_groups(
    graph: StreamGraph, operators: list[OperatorTransformation], numbers: dict[int, int]
) -> None:
    for operator in operators:
        node = graph.nodes[numbers[operator.id]]
        if operator.slot_sharing_group is not None:
            node.slot_sharing_group = operator.slot_sharing_group
            continue
        groups = {graph.nodes[edge.source].slot_sharing_group for edge in node.in_edges}
        if len(groups) == 1:
            node.slot_sharing_group = groups.pop()


def _check_iterations(graph: StreamGraph) -> None:
    nodes = graph.nodes.values()
    heads = {n.spec.fed_by: n for n in nodes if isinstance(n.spec, SourceSpec) and n.spec.fed_by}
    tails = {n.spec.feeds: n for n in nodes if isinstance(n.spec, SinkSpec) and n.spec.feeds}
    for name in heads.keys() - tails.keys():
        raise GraphError(
            "an iteration sends nothing back",
            where=heads[name].describe(),
            todo="call close_with(stream) on what iterate() returned",
        )
    for name in tails.keys() - heads.keys():
        raise GraphError(
            "an iteration is closed with a stream that is not part of it",
            where=tails[name].describe(),
            todo="make the stream for close_with() from what iterate() returned",
        )


def _resolve_batch_mode(graph: StreamGraph) -> bool:
    sources = [node for node in graph.nodes.values() if node.is_source()]
    unbounded = [node for node in sources if not node.spec.source.bounded]  # type: ignore[attr-defined]
    mode = graph.settings.runtime_mode
    if mode == "BATCH" and unbounded:
        raise GraphError(
            "runtime mode BATCH needs sources that end, and this one does not",
            where=unbounded[0].describe(),
            todo="set the mode to STREAMING or AUTOMATIC, or read from a bounded source",
        )
    return mode == "BATCH" or (mode == "AUTOMATIC" and not unbounded)
