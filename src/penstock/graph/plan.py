"""The physical plan: operators placed on exchange levels, edges that are local or cross levels.

This is what is shipped to the workers. Level 0 runs inside the source's reader, a level n >= 1 in
stateful slots; all operators of one level and one subtask index share a slot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.graph.declared_types import Converter
from penstock.graph.specs import CallSite, OperatorSpec, Partitioner


@dataclass(frozen=True)
class PlanEdge:
    """An edge between two operators.

    An edge *crosses* when its ends are not in the same slot and level: its records travel packed.
    A local edge is a direct call.
    """

    id: int
    source: int
    target: int
    input_index: int  # 0, or 1 for the second input of a connected operator
    partitioner: Partitioner
    crosses: bool
    output_tag: str | None = None  # tag id of a side output
    #: What outlives a run is known by it: made of the uids at both ends.
    name: str = ""


def name_edge(source_uid: str, tag: str | None, target_uid: str, input_index: int) -> str:
    """Return what an edge is known by: the uids of its ends, the side output and the input."""
    return json.dumps([source_uid, tag or "", target_uid, input_index])


def sender_of(edge_name: str) -> str:
    """Return the uid at the beginning of an edge."""
    return str(json.JSONDecoder().raw_decode(edge_name)[0][0])


@dataclass(frozen=True)
class PlanOperator:
    """One operator with its place."""

    id: int
    uid: str
    name: str
    spec: OperatorSpec
    parallelism: int
    max_parallelism: int
    level: int
    site: CallSite | None
    inputs: tuple[PlanEdge, ...]
    outputs: tuple[PlanEdge, ...]
    #: Whether the user set the maximum parallelism; else an earlier run's is kept.
    own_max_parallelism: bool = False
    #: How the state is laid out, where an earlier run decides it; None: as suits the spec best.
    layout: str | None = None
    #: At level 0: id of the source operator in whose reader this operator runs.
    origin: int | None = None
    #: Name of the chain (Flink's task) that the operator belongs to, for metrics and drawings.
    chain: str = ""
    #: Id of the operator at the head of that chain: a vertex of Flink's job graph.
    vertex: int = 0
    slot_sharing_group: str = "default"
    #: Turns each record of the main output into one of the declared type; None leaves it as it is.
    converter: Converter | None = None
    #: The same for the side outputs whose tags have a type, by tag id.
    side_converters: Mapping[str, Converter] = field(default_factory=dict)

    def describe(self) -> str:
        """Say which operator, and where in the user's program it was made."""
        built = f", built at {self.site}" if self.site else ""
        return f"operator {self.name!r}{built}"


@dataclass(frozen=True)
class ExecutionPlan:
    """A whole job, placed. `operators` are in topological order."""

    job_name: str
    operators: tuple[PlanOperator, ...]
    slots: int
    levels: int  # number of stateful levels: levels 1 .. levels exist; 0 = no stateful stage
    batch_mode: bool = False
    #: Settings that workers need, by configuration key.
    settings: dict[str, Any] = field(default_factory=dict)

    def operator(self, operator_id: int) -> PlanOperator:
        """Return an operator by id."""
        return next(op for op in self.operators if op.id == operator_id)

    def at_level(self, level: int) -> list[PlanOperator]:
        """Return the operators of one level in topological order."""
        return [op for op in self.operators if op.level == level]

    def feedback(self) -> dict[str, str]:
        """Return the uid of each iteration's head by that of its tail."""
        heads = {getattr(op.spec, "fed_by", None): op.uid for op in self.operators}
        tails = {op.uid: getattr(op.spec, "feeds", None) for op in self.operators}
        return {uid: heads[name] for uid, name in tails.items() if name is not None}

    def sources(self) -> list[PlanOperator]:
        """Return the job's sources."""
        return [op for op in self.operators if not op.inputs]
