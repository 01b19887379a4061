"""Programs for the tests of the graph, and what is asked of their plans."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.common import Configuration
from penstock.core.io import (
    EnumeratorContext,
    Source,
    SourceBatch,
    SplitEnumerator,
    SplitRange,
)
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.graph.plan import ExecutionPlan


class NamedSource(Source):
    """A source that is never read."""

    def __init__(self, bounded: bool = True, parallel: bool = True) -> None:
        self.bounded = bounded
        self.parallel = parallel

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        raise AssertionError("the tests of the graph run nothing")

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        raise AssertionError("the tests of the graph run nothing")


def environment(parallelism: int = 2, **settings: str) -> StreamExecutionEnvironment:
    """Return an environment; in the name of a setting `__` stands for a dot, `_` for a hyphen."""
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    return StreamExecutionEnvironment(configuration).set_parallelism(parallelism)


def source(env: StreamExecutionEnvironment, name: str = "A", bounded: bool = True) -> DataStream:
    return env.add_source(NamedSource(bounded), name)


def levels(plan: ExecutionPlan) -> dict[str, int]:
    """Return the level of each operator by its name without `Source: ` and `Sink: `."""
    return {op.name.rpartition(": ")[2]: op.level for op in plan.operators}


def first(record: tuple) -> object:
    return record[0]
