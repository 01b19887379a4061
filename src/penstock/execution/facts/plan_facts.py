"""The vertices of a job, as its plan has them."""

from __future__ import annotations

import hashlib
import re

from penstock.execution.facts.snapshot import (
    OperatorFacts,
    OperatorSubtask,
    VertexFacts,
    VertexInput,
    VertexSubtask,
)
from penstock.graph.chaining import partitioner_name
from penstock.graph.plan import ExecutionPlan, PlanEdge, PlanOperator
from penstock.graph.specs import SinkFunctionSpec, SinkSpec, SourceSpec

_HEX = re.compile(r"[0-9a-f]{32}")


def operator_id(uid: str) -> str:
    """Return the 32 hex digits that stand for an operator.

    >>> operator_id("orders")
    '12c500ed0b7879105fb46af0f246be87'
    """
    known = uid.lower()
    if _HEX.fullmatch(known):
        return known
    return hashlib.md5(uid.encode(), usedforsecurity=False).hexdigest()


def vertices_of(plan: ExecutionPlan) -> list[VertexFacts]:
    """Return the chains of a plan, inputs before their users, with nothing counted yet."""
    by_id = {operator.id: operator for operator in plan.operators}
    vertices: dict[int, VertexFacts] = {}
    for operator in plan.operators:
        head = by_id[operator.vertex]
        vertex = vertices.get(head.id)
        if vertex is None:
            vertex = vertices[head.id] = _vertex(head)
        vertex.max_parallelism = min(vertex.max_parallelism, operator.max_parallelism)
        vertex.operators.append(_operator(operator, by_id))
        vertex.inputs += [
            _input(edge, by_id) for edge in operator.inputs if not _is_chained(edge, by_id)
        ]
    return list(vertices.values())


def _vertex(head: PlanOperator) -> VertexFacts:
    return VertexFacts(
        id=operator_id(head.uid),
        name=head.chain or head.name,
        parallelism=head.parallelism,
        max_parallelism=head.max_parallelism,
        level=head.level,
        slot_sharing_group=head.slot_sharing_group,
        subtasks=[VertexSubtask(i, "CREATED", 0) for i in range(head.parallelism)],
    )


def _operator(operator: PlanOperator, by_id: dict[int, PlanOperator]) -> OperatorFacts:
    site = operator.site
    chained = [edge for edge in operator.inputs if _is_chained(edge, by_id)]
    return OperatorFacts(
        uid=operator.uid,
        id=operator_id(operator.uid),
        name=operator.name,
        kind=_kind(operator),
        file=site.file if site else "",
        line=site.line if site else 0,
        parallelism=operator.parallelism,
        max_parallelism=operator.max_parallelism,
        chained_to=[by_id[edge.source].uid for edge in chained],
        keyed=operator.spec.keyed,
        subtasks=[OperatorSubtask(i) for i in range(operator.parallelism)],
    )


def _kind(operator: PlanOperator) -> str:
    if isinstance(operator.spec, SourceSpec):
        return "source"
    return "sink" if isinstance(operator.spec, (SinkSpec, SinkFunctionSpec)) else "operator"


def _is_chained(edge: PlanEdge, by_id: dict[int, PlanOperator]) -> bool:
    return by_id[edge.source].vertex == by_id[edge.target].vertex


def _input(edge: PlanEdge, by_id: dict[int, PlanOperator]) -> VertexInput:
    source = by_id[edge.source]
    return VertexInput(
        edge=edge.id,
        vertex=operator_id(by_id[source.vertex].uid),
        ship_strategy=partitioner_name(edge.partitioner),
        from_uid=source.uid,
        to_uid=by_id[edge.target].uid,
        input=edge.input_index,
        side_output=edge.output_tag,
    )
