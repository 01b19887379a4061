"""Stages over groups: combine before the exchange, reduce behind it; first; sort."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

from penstock.graph.dataset.keys import Key, SortKey
from penstock.graph.fields import FieldKey
from penstock.runtime.dataset.carrier import Tools
from penstock.runtime.dataset.context import Place
from penstock.runtime.dataset.sorting import Sorting
from penstock.runtime.dataset.stage import FunctionStage, PlainStage, Shipped

#: How many keys are added to a table between two looks at the memory; a power of two.
_LOOK = 1 << 14


class CombineStage(FunctionStage):
    """Reduce what is together already: one `(key, record)` per key, or a few if memory is short.

    :param key: None: one group of all records.
    """

    def __init__(self, place: Place, key: Key | None, function: Any, tools: Tools) -> None:
        super().__init__(place, function, "reduce")
        self._key = Shipped(key, place.describe())
        self._tools = tools

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        selected: Key | None = self._key.unpack()
        if selected is None:
            yield from self._all(call, values)
            return
        key, is_full = selected.function(), self._tools.is_full
        merged: dict[Any, Any] = {}
        for value in values:
            group = key(value)
            if group in merged:
                merged[group] = call(merged[group], value)
            else:
                merged[group] = value
                if not len(merged) % _LOOK and is_full():
                    yield from merged.items()
                    merged.clear()
        yield from merged.items()

    def _all(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        for value in values:
            total = value
            for value in values:
                total = call(total, value)
            yield None, total


class MergeStage(FunctionStage):
    """Reduce the pairs that combining has made; yield the records without their keys."""

    def __init__(self, place: Place, function: Any, tools: Tools) -> None:
        super().__init__(place, function, "reduce")
        self._tools = tools

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        for _, total in self._tools.merge(values, call):
            yield total


class CombineGroupStage(FunctionStage):
    """Call a combine function with the records of each group that are together already.

    :param with_keys: yield `(key, record)`, for the exchange that follows.
    """

    def __init__(
        self, place: Place, key: Key | None, function: Any, tools: Tools, *, with_keys: bool
    ) -> None:
        super().__init__(place, function, "combine")
        self._key = Shipped(key, place.describe())
        self._tools = tools
        self._with_keys = with_keys

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        selected: Key | None = self._key.unpack()
        key = selected.function() if selected is not None else _no_key
        groups: dict[Any, list[Any]] = {}
        for number, value in enumerate(values, 1):
            groups.setdefault(key(value), []).append(value)
            if not number % _LOOK and self._tools.is_full():
                yield from self._combined(call, groups)
                groups = {}
        yield from self._combined(call, groups)

    def _combined(self, call: Callable[..., Any], groups: dict[Any, list[Any]]) -> Iterator[Any]:
        for group, members in groups.items():
            result = call(iter(members))
            for record in () if result is None else result:
                yield (group, record) if self._with_keys else record


class GroupReduceStage(FunctionStage):
    """Call a function with all records of each group; they come as chunks.

    :param key: None: records come, and the partition is one group.
    :param combined: what comes are the pairs of `CombineGroupStage`, not records.
    """

    def __init__(
        self,
        place: Place,
        key: Key | None,
        function: Any,
        sort: tuple[SortKey, ...],
        tools: Tools,
        *,
        combined: bool,
    ) -> None:
        super().__init__(place, function, "reduce")
        self._settings = Shipped((key, sort), place.describe())
        self._tools = tools
        self._combined = combined

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        key, sort = self._settings.unpack()
        order = Sorting(sort) if sort else None
        for group in self._groups(values, key):
            members = iter(group) if order is None else self._tools.sort(group, order)
            result = call(members)
            if result is not None:
                yield from result

    def _groups(self, values: Iterator[Any], key: Key | None) -> Iterator[Iterable[Any]]:
        if key is not None:
            for _, group in self._tools.group(values, PAIR if self._combined else key):
                yield map(_value_of_pair, group) if self._combined else group
            return
        records = map(_value_of_pair, values) if self._combined else values
        # Without a record the function is not called.
        for first in records:
            yield chain([first], records)


class FirstOfGroupStage(PlainStage):
    """Keep the first records of each group.

    :param final: the groups are whole, so they can be sorted; they come as chunks.
    """

    def __init__(
        self,
        place: Place,
        key: Key,
        count: int,
        sort: tuple[SortKey, ...],
        tools: Tools,
        *,
        final: bool,
    ) -> None:
        super().__init__(place)
        self._count = count
        self._settings = Shipped((key, sort), place.describe())
        self._tools = tools
        self._final = final

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        key, sort = self._settings.unpack()
        if self._final:
            order = Sorting(sort) if sort else None
            return self._last(values, key, order)
        return values if sort else self._early(values, key.function())

    def _early(self, values: Iterator[Any], key: Callable[[Any], Any]) -> Iterator[Any]:
        seen: dict[Any, int] = {}
        for value in values:
            group = key(value)
            count = seen.get(group, 0)
            if count < self._count:
                seen[group] = count + 1
                yield value
                if not len(seen) % _LOOK and self._tools.is_full():
                    seen.clear()  # more than enough is sent then; the last stage counts again

    def _last(
        self,
        values: Iterator[Any],
        key: Key,
        order: Sorting | None,
    ) -> Iterator[Any]:
        for _, group in self._tools.group(values, key):
            members = group if order is None else self._tools.sort(group, order)
            yield from islice(members, self._count)


class SortStage(PlainStage):
    """Sort a partition."""

    def __init__(self, place: Place, sort: tuple[SortKey, ...], tools: Tools) -> None:
        super().__init__(place)
        self._sort = Shipped(sort, place.describe())
        self._tools = tools

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        yield from self._tools.sort(values, Sorting(self._sort.unpack()))


class LatestStage(PlainStage):
    """Keep one record per key of chunks: one of tag 1 if there is any, else one of tag 0."""

    stays = True

    def __init__(self, place: Place, key: Key, tools: Tools) -> None:
        super().__init__(place)
        self._key = Shipped(key, place.describe())
        self._tools = tools

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        key = self._key.unpack()
        for _, old, new in self._tools.co_group(values, (key, key)):
            yield (new or old)[-1]


#: The key of a pair `(key, record)`, as combining makes them.
PAIR = Key(FieldKey((0,)), "the key")


def _value_of_pair(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def _no_key(record: Any) -> None:
    return None
