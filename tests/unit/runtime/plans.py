"""Hand-made execution plans: operators, edges, and the levels that follow from them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.core.io import (
    Committer,
    CommitterContext,
    EnumeratorContext,
    Sink,
    SinkWriter,
    Source,
    SourceBatch,
    SplitEnumerator,
    SplitRange,
    WriterContext,
)
from penstock.graph.plan import ExecutionPlan, PlanEdge, PlanOperator
from penstock.graph.specs import (
    CallSite,
    Forward,
    Hash,
    OperatorSpec,
    Partitioner,
    SinkSpec,
    SourceSpec,
)

FORWARD = Forward()


class ListSource(Source):
    """Records that travel with the range that names them."""

    bounded = True

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        raise AssertionError("nobody asks: the tests plan what is read")

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        assert split_range.payload is not None
        yield from pickle.loads(split_range.payload)


class ListSink(Sink):
    """Records, with subtask and timestamp, as they were when they were written."""

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return ListWriter()

    def create_committer(self, context: CommitterContext) -> Committer:
        raise AssertionError("nobody publishes")


class ListWriter(SinkWriter):
    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._written.append(pickle.dumps((value, timestamp)))

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        written, self._written = self._written, []
        return written


@dataclass
class Input:
    """One input of an operator that is being planned."""

    source: int
    partitioner: Partitioner = FORWARD
    index: int = 0
    tag: str | None = None


@dataclass
class Node:
    spec: OperatorSpec
    name: str
    parallelism: int
    inputs: list[Input] = field(default_factory=list)


class Planner:
    """Collect operators, then place them."""

    def __init__(self, parallelism: int = 1, max_parallelism: int = 128) -> None:
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._nodes: list[Node] = []

    def source(self, name: str = "source", parallelism: int = 1, strategy: Any = None) -> int:
        spec = SourceSpec(ListSource(), strategy)
        self._nodes.append(Node(spec, name, parallelism))
        return len(self._nodes) - 1

    def add(
        self,
        spec: OperatorSpec,
        *inputs: int | Input,
        name: str = "",
        parallelism: int | None = None,
    ) -> int:
        edges = [Input(each) if isinstance(each, int) else each for each in inputs]
        kind = type(spec).__name__.removesuffix("Spec")
        parallelism = self._parallelism if parallelism is None else parallelism
        self._nodes.append(Node(spec, name or f"{kind}-{len(self._nodes)}", parallelism, edges))
        return len(self._nodes) - 1

    def keyed(self, spec: OperatorSpec, source: int, selector: Any, **more: Any) -> int:
        return self.add(spec, Input(source, Hash(selector)), **more)

    def sink(self, *inputs: int | Input, name: str = "sink", parallelism: int | None = None) -> int:
        return self.add(SinkSpec(ListSink()), *inputs, name=name, parallelism=parallelism)

    def build(self, *, batch_mode: bool = False, **settings: Any) -> ExecutionPlan:
        levels, origins = self._levels()
        edges, number = [], 0
        for target, node in enumerate(self._nodes):
            for each in node.inputs:
                crosses = levels[each.source] < levels[target]
                edges.append(
                    PlanEdge(
                        number,
                        each.source,
                        target,
                        each.index,
                        each.partitioner,
                        crosses,
                        each.tag,
                        f"edge-{number}",
                    )
                )
                number += 1
        operators = tuple(
            PlanOperator(
                id=i, uid=f"uid-{i}", name=node.name, spec=node.spec, parallelism=node.parallelism,
                max_parallelism=self._max_parallelism, level=levels[i],
                site=CallSite("job.py", 10 + i),
                inputs=tuple(edge for edge in edges if edge.target == i),
                outputs=tuple(edge for edge in edges if edge.source == i),
                origin=origins[i],
            )
            for i, node in enumerate(self._nodes)
        )  # fmt: skip
        slots = max((op.parallelism for op in operators if op.level), default=1)
        settings = {key.replace("_", "."): value for key, value in settings.items()}
        return ExecutionPlan("test", operators, slots, max(levels), batch_mode, settings)

    def _levels(self) -> tuple[list[int], list[int | None]]:
        levels: list[int] = []
        origins: list[int | None] = []
        for i, node in enumerate(self._nodes):
            level, found = 0, {origins[each.source] for each in node.inputs} or {i}
            for each in node.inputs:
                same = node.parallelism == self._nodes[each.source].parallelism
                forward = isinstance(each.partitioner, Forward) and same
                level = max(level, levels[each.source] + (not forward))
            if len(found) > 1:
                level = max(level, 1)
            levels.append(level)
            origins.append(found.pop() if level == 0 else None)
        return levels, origins
