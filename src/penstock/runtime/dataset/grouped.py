"""Stages over groups: combine before the exchange, reduce behind it; first; sort."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

from penstock.graph.dataset.keys import Key, SortKey
from penstock.runtime.dataset.carrier import Tools
from penstock.runtime.dataset.context import Place
from penstock.runtime.dataset.stage import FunctionStage, PlainStage, Shipped

#: How many keys are added to a table between two looks at the memory; a power of two.
_LOOK = 1 << 14


class Descending:
    """A sort key that turns the order round."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Descending) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and bool(other.value == self.value)

    __hash__ = None  # type: ignore[assignment]


def sort_function(sort: tuple[SortKey, ...]) -> Callable[[Any], Any]:
    """Return a function that gives a record's place in a sort by one or several keys."""
    parts = [(each.key.function(), each.order.descends) for each in sort]
    if len(parts) == 1:
        function, descends = parts[0]
        return (lambda record: Descending(function(record))) if descends else function
    return lambda record: tuple(
        Descending(function(record)) if descends else function(record)
        for function, descends in parts
    )


class KeyStage(PlainStage):
    """Pair each record with its key; with a tag, make `(key, (tag, record))`."""

    def __init__(self, place: Place, key: Key, tag: int | None = None) -> None:
        super().__init__(place)
        self._key = Shipped(key, place.describe())
        self._tag = tag

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        key, tag = self._key.unpack().function(), self._tag
        if tag is None:
            for value in values:
                yield key(value), value
        else:
            for value in values:
                yield key(value), (tag, value)


class SortKeyStage(PlainStage):
    """Pair each record with its place in a sort."""

    def __init__(self, place: Place, sort: tuple[SortKey, ...]) -> None:
        super().__init__(place)
        self._sort = Shipped(sort, place.describe())

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        key = sort_function(self._sort.unpack())
        for value in values:
            yield key(value), value


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
    """Call a function with all records of each group.

    :param whole: the partition is one group, and its records are not pairs.
    """

    def __init__(
        self,
        place: Place,
        function: Any,
        sort: tuple[SortKey, ...],
        tools: Tools,
        *,
        whole: bool,
    ) -> None:
        super().__init__(place, function, "reduce")
        self._sort = Shipped(sort, place.describe())
        self._tools = tools
        self._whole = whole

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        sort = self._sort.unpack()
        order = sort_function(sort) if sort else None
        for group in self._groups(values):
            members = iter(group) if order is None else self._tools.sort(group, order)
            result = call(members)
            if result is not None:
                yield from result

    def _groups(self, values: Iterator[Any]) -> Iterator[Iterable[Any]]:
        if not self._whole:
            for _, group in self._tools.group(values):
                yield group
            return
        # Without a record the function is not called.
        for first in values:
            yield chain([first], values)


class FirstOfGroupStage(PlainStage):
    """Keep the first records of each group.

    :param final: the groups are whole: sort them, and drop the keys.
    """

    def __init__(
        self, place: Place, count: int, sort: tuple[SortKey, ...], tools: Tools, *, final: bool
    ) -> None:
        super().__init__(place)
        self._count = count
        self._sort = Shipped(sort, place.describe())
        self._tools = tools
        self._final = final

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        sort = self._sort.unpack()
        if not self._final:
            return values if sort else self._early(values)
        return self._last(values, sort_function(sort) if sort else None)

    def _early(self, values: Iterator[Any]) -> Iterator[Any]:
        seen: dict[Any, int] = {}
        for pair in values:
            count = seen.get(pair[0], 0)
            if count < self._count:
                seen[pair[0]] = count + 1
                yield pair
                if not len(seen) % _LOOK and self._tools.is_full():
                    seen.clear()  # more than enough is sent then; the last stage counts again

    def _last(self, values: Iterator[Any], order: Callable[[Any], Any] | None) -> Iterator[Any]:
        for _, group in self._tools.group(values):
            yield from islice(
                group if order is None else self._tools.sort(group, order), self._count
            )


class SortStage(PlainStage):
    """Sort a partition."""

    def __init__(self, place: Place, sort: tuple[SortKey, ...], tools: Tools) -> None:
        super().__init__(place)
        self._sort = Shipped(sort, place.describe())
        self._tools = tools

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        yield from self._tools.sort(values, sort_function(self._sort.unpack()))


class LatestStage(PlainStage):
    """Keep one record per key: the one with the highest tag, `(key, (tag, record))`."""

    keeps_keys = True

    def __init__(self, place: Place, tools: Tools) -> None:
        super().__init__(place)
        self._tools = tools

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        for key, (_, value) in self._tools.merge(values, _later):
            yield key, value


class TagStage(PlainStage):
    """Put a tag on the value of each pair."""

    keeps_keys = True

    def __init__(self, place: Place, tag: int) -> None:
        super().__init__(place)
        self._tag = tag

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        for key, value in values:
            yield key, (self._tag, value)


def _later(first: tuple[int, Any], second: tuple[int, Any]) -> tuple[int, Any]:
    return second if second[0] >= first[0] else first


def _no_key(record: Any) -> None:
    return None
