"""Cut a job into exchange levels: the stages in which it runs.

The level of an operator is the largest number of exchanges between it and a source. All operators
of a level run side by side in the same slots; level 0 runs inside the source's reader.
"""

from __future__ import annotations

from collections import Counter

from penstock.common.typeinfo import RowTypeInfo
from penstock.errors import GraphError
from penstock.graph.declared_types import Converter, make_converter
from penstock.graph.job_graph import JobVertex, build_job_graph
from penstock.graph.plan import ExecutionPlan, PlanEdge, PlanOperator, name_edge
from penstock.graph.specs import Forward, Hash
from penstock.graph.stream_graph import StreamEdge, StreamGraph, StreamNode

#: Operator and edge ids travel as two bytes in every envelope.
_ID_LIMIT = 1 << 16


def place(graph: StreamGraph) -> ExecutionPlan:
    """Return the execution plan of a stream graph.

    :raises GraphError: if the job has more operators or edges than can be numbered.
    """
    _check_size(graph)
    levels, origins = _assign_levels(graph)
    chains = {
        node.id: vertex for vertex in build_job_graph(graph).vertices for node in vertex.operators
    }
    names = _edge_names(graph)
    edges = {edge.id: _plan_edge(edge, levels, names[edge.id]) for edge in graph.edges()}
    operators = tuple(
        _plan_operator(node, levels[node.id], origins.get(node.id), edges, chains[node.id])
        for node in graph.nodes.values()
    )
    slots = max((op.parallelism for op in operators if op.level > 0), default=1)
    return ExecutionPlan(
        job_name=graph.settings.job_name,
        operators=operators,
        slots=slots,
        levels=max(levels.values()),
        batch_mode=graph.batch_mode,
        settings=dict(graph.settings.configuration),
    )


def _assign_levels(graph: StreamGraph) -> tuple[dict[int, int], dict[int, int]]:
    """Return the level of each operator, and for those of level 0 their source."""
    levels: dict[int, int] = {}
    origins: dict[int, int] = {}
    for node in graph.nodes.values():
        if not node.in_edges:
            levels[node.id], origins[node.id] = 0, node.id
            continue
        level = max(levels[edge.source] + _exchanges(edge) for edge in node.in_edges)
        if level == 0:
            found = {origins[edge.source] for edge in node.in_edges}
            if len(found) == 1:
                origins[node.id] = found.pop()
            else:
                # Two sources are read by different tasks: only a slot can bring them together.
                level = 1
        levels[node.id] = level
    return levels, origins


def _exchanges(edge: StreamEdge) -> int:
    how = edge.partitioner
    return 0 if isinstance(how, Forward) or (isinstance(how, Hash) and how.settled) else 1


def _edge_names(graph: StreamGraph) -> dict[int, str]:
    """Name edges by the uids of their ends, the input and the side output."""
    names: dict[int, str] = {}
    alike: Counter[str] = Counter()
    for edge in graph.edges():
        source, target = graph.node(edge.source).uid, graph.node(edge.target).uid
        name = name_edge(source, edge.output_tag, target, edge.input_index)
        alike[name] += 1
        # A stream that is united with itself has two edges between the same ends.
        names[edge.id] = name if alike[name] == 1 else f"{name} {alike[name]}"
    return names


def _plan_edge(edge: StreamEdge, levels: dict[int, int], name: str) -> PlanEdge:
    return PlanEdge(
        id=edge.id,
        source=edge.source,
        target=edge.target,
        input_index=edge.input_index,
        partitioner=edge.partitioner,
        crosses=levels[edge.source] < levels[edge.target],
        output_tag=edge.output_tag,
        name=name,
    )


def _plan_operator(
    node: StreamNode, level: int, origin: int | None, edges: dict[int, PlanEdge], chain: JobVertex
) -> PlanOperator:
    return PlanOperator(
        id=node.id,
        uid=node.uid,
        name=node.name,
        spec=node.spec,
        parallelism=node.parallelism,
        max_parallelism=node.max_parallelism,
        level=level,
        site=node.site,
        inputs=tuple(edges[edge.id] for edge in node.in_edges),
        outputs=tuple(edges[edge.id] for edge in node.out_edges),
        own_max_parallelism=node.own_max_parallelism,
        origin=origin,
        chain=chain.name,
        vertex=chain.id,
        slot_sharing_group=node.slot_sharing_group,
        converter=_converter_of(node),
        side_converters={
            edge.output_tag: converter
            for edge in node.out_edges
            if edge.output_tag is not None
            and (converter := make_converter(edge.tag_type)) is not None
        },
    )


def _converter_of(node: StreamNode) -> Converter | None:
    wanted = node.spec.converts
    if wanted == "all" or (wanted == "rows" and isinstance(node.output_type, RowTypeInfo)):
        return make_converter(node.output_type)
    return None


def _check_size(graph: StreamGraph) -> None:
    for what, count in (
        ("operators", len(graph.nodes)),
        ("edges", sum(1 for _ in graph.edges())),
    ):
        if count >= _ID_LIMIT:
            raise GraphError(
                f"a job can have at most {_ID_LIMIT - 1} {what}",
                got=f"{count} {what}",
                todo="split the program into several jobs",
            )
