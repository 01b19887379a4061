"""Stages at both ends of an exchange: records leave in chunks, chunks arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import Any

from penstock.graph.dataset.keys import Key, SortKey
from penstock.runtime.dataset.carrier import Tools
from penstock.runtime.dataset.context import Place
from penstock.runtime.dataset.sorting import Sorting
from penstock.runtime.dataset.stage import PlainStage, Shipped

#: Gives the targets of many records, or of many keys.
Targets = Callable[[list[Any]], list[int]]

#: Records that are looked at together.
_BLOCK = 1 << 10
#: What a chunk should weigh, and how many records it has until its weight is known.
_CHUNK_BYTES = 1 << 18
_FIRST_CHUNK = 256
_MOST = 1 << 14


class _Sender(PlainStage):
    """Base: gathers records by target, and packs them when there are enough."""

    def __init__(self, place: Place, count: int, tools: Tools, tag: int = 0) -> None:
        super().__init__(place)
        self._count = count
        self._tools = tools
        self._tag = tag

    def send(self, values: Iterator[Any], targets_of: Targets) -> Iterator[Any]:
        """Yield `(target, chunk)`.

        :param targets_of: gives the targets of many records.
        """
        gathered: list[list[Any]] = [[] for _ in range(self._count)]
        enough = _FIRST_CHUNK
        while records := list(islice(values, _BLOCK)):
            if self._count == 1:
                gathered[0] += records
            else:
                for target, record in zip(targets_of(records), records, strict=True):
                    gathered[target].append(record)
            for target, held in enumerate(gathered):
                while len(held) >= enough:
                    part, held = held[:enough], held[enough:]
                    gathered[target] = held
                    chunk = self._tools.pack(self._tag, part)
                    enough = _records_of_a_chunk(len(part), self._tools.size(chunk))
                    yield target, chunk
        for target, held in enumerate(gathered):
            if held:
                yield target, self._tools.pack(self._tag, held)


class SendByKey(_Sender):
    """Send records where their keys belong.

    :param route: gives the targets of keys.
    """

    def __init__(
        self, place: Place, key: Key, route: Targets, count: int, tools: Tools, tag: int = 0
    ) -> None:
        super().__init__(place, count, tools, tag)
        self._key = Shipped(key, place.describe())
        self._route = route

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        key, route = self._key.unpack(), self._route
        return self.send(values, lambda records: route(key.of_all(records)))


class SendBySortKey(_Sender):
    """Send records to ranges of their sort keys."""

    def __init__(
        self,
        place: Place,
        sort: tuple[SortKey, ...],
        route: Targets,
        count: int,
        tools: Tools,
    ) -> None:
        super().__init__(place, count, tools)
        self._sort = Shipped(sort, place.describe())
        self._route = route

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        sorting, route = Sorting(self._sort.unpack()), self._route
        return self.send(values, lambda records: route(list(map(sorting.place, records))))


class SendInTurn(_Sender):
    """Deal records out evenly."""

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        # Subtasks begin at different targets: else the last target would get less of all.
        targets = islice(cycle(range(self._count)), subtask % self._count, None)
        return self.send(values, lambda records: list(islice(targets, len(records))))


class ReceiveStage(PlainStage):
    """Turn chunks into their records."""

    stays = True

    def __init__(self, place: Place, tools: Tools) -> None:
        super().__init__(place)
        self._tools = tools

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        for chunk in values:
            yield from self._tools.unpack(chunk)[1]


class RepackStage(PlainStage):
    """Turn records into chunks with a tag, where they are."""

    stays = True

    def __init__(self, place: Place, tools: Tools, tag: int) -> None:
        super().__init__(place)
        self._tools = tools
        self._tag = tag

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        while records := list(islice(values, _FIRST_CHUNK)):
            yield self._tools.pack(self._tag, records)


def _records_of_a_chunk(records: int, weight: int) -> int:
    """Return how many records the next chunk should have, given the last one."""
    if not weight:
        return _MOST
    return min(max(records * _CHUNK_BYTES // weight, 1), _MOST)
