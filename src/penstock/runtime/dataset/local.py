"""Run a DataSet program on lists in this process: Flink's collection environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from penstock.execution.batch import BatchEngine, BatchRequest, BatchResult
from penstock.graph.dataset.keys import Key
from penstock.runtime.dataset.carrier import Carrier, Partitions, Tools
from penstock.runtime.dataset.failure import describe
from penstock.runtime.dataset.groups import GroupTable
from penstock.runtime.dataset.run import Reports, run_program
from penstock.runtime.dataset.sorting import Sorting
from penstock.runtime.dataset.stage import Stage


class MemoryTools(Tools):
    """Everything in memory."""

    def merge(
        self, pairs: Iterator[tuple[Any, Any]], combine: Callable[[Any, Any], Any]
    ) -> Iterator[tuple[Any, Any]]:
        merged: dict[Any, Any] = {}
        for key, value in pairs:
            merged[key] = combine(merged[key], value) if key in merged else value
        return iter(merged.items())

    def pack(self, tag: int, content: Any) -> Any:
        return tag, content

    def unpack(self, chunk: Any) -> tuple[int, Any]:
        tag, content = chunk
        return tag, content

    def size(self, chunk: Any) -> int:
        return 0

    def group(self, chunks: Iterator[Any], key: Key) -> Iterator[tuple[Any, Iterable[Any]]]:
        table = GroupTable(key)
        for tag, content in chunks:
            table.add(tag, content)
        return table.take()

    def co_group(
        self, chunks: Iterator[Any], keys: tuple[Key, Key]
    ) -> Iterator[tuple[Any, list[Any], list[Any]]]:
        groups: dict[Any, tuple[list[Any], list[Any]]] = {}
        for tag, records in chunks:
            for group, value in zip(keys[tag].of_all(records), records, strict=True):
                groups.setdefault(group, ([], []))[tag].append(value)
        for group, (first, second) in groups.items():
            yield group, first, second

    def sort(self, values: Iterable[Any], sorting: Sorting) -> Iterator[Any]:
        held = list(values)
        sorting.apply(held)
        return iter(held)

    def is_full(self) -> bool:
        return False


class ListPartitions(Partitions):
    """Partitions that are lists."""

    def __init__(self, parts: list[list[Any]]) -> None:
        self._parts = parts
        self.count = len(parts)

    def through(self, stage: Stage) -> Partitions:
        try:
            return ListPartitions(
                [list(stage.run(index, iter(part))) for index, part in enumerate(self._parts)]
            )
        except Exception as error:
            raise describe(error) from None

    def exchange(self, sender: Stage, count: int) -> Partitions:
        parts: list[list[Any]] = [[] for _ in range(count)]
        for target, chunk in self.through(sender).collect():
            parts[target].append(chunk)
        return ListPartitions(parts)

    def union(self, others: list[Partitions]) -> Partitions:
        return ListPartitions([*self._parts, *chain.from_iterable(map(_parts_of, others))])

    def merged(self, other: Partitions) -> Partitions:
        both = zip(self._parts, _parts_of(other), strict=True)
        return ListPartitions([[*mine, *theirs] for mine, theirs in both])

    def fewer(self, count: int) -> Partitions:
        parts: list[list[Any]] = [[] for _ in range(count)]
        for index, part in enumerate(self._parts):
            parts[index * count // self.count].extend(part)
        return ListPartitions(parts)

    def cross(self, other: Partitions) -> Partitions:
        return ListPartitions(
            [
                [(a, b) for a in part for b in each]
                for part in self._parts
                for each in _parts_of(other)
            ]
        )

    def keep(self) -> Partitions:
        return self

    def settled(self) -> Partitions:
        return self

    def release(self) -> None:
        pass

    def collect(self) -> list[Any]:
        return list(chain.from_iterable(self._parts))


def _parts_of(partitions: Partitions) -> list[list[Any]]:
    assert isinstance(partitions, ListPartitions)
    return partitions._parts


@dataclass(frozen=True)
class _Here:
    value: list[Any]


class ListCarrier(Carrier):
    """Partitions that are lists in this process."""

    tools = MemoryTools()

    def read(self, stage: Stage, pieces: Sequence[Sequence[Any]]) -> Partitions:
        return ListPartitions([list(each) for each in pieces]).through(stage)

    def broadcast(self, values: list[Any]) -> _Here:
        return _Here(values)


class CollectionsEngine(BatchEngine):
    """Run a program on lists."""

    def run(self, request: BatchRequest) -> BatchResult:
        reports = Reports()
        return run_program(request, ListCarrier(), reports, reports.totals)
