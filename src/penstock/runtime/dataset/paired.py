"""Stages over two inputs: joins, co-groups, cross products."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.core.batch.options import JoinKind
from penstock.core.functions import FlatJoinFunction
from penstock.graph.dataset.keys import Key, SortKey, require_like_values
from penstock.runtime.dataset.carrier import Tools
from penstock.runtime.dataset.context import BroadcastValue, Place
from penstock.runtime.dataset.sorting import Sorting
from penstock.runtime.dataset.stage import FunctionStage, Shipped

_NOBODY = (None,)


def pair(first: Any, second: Any) -> tuple[Any, Any]:
    """Return a pair: what a join without a function gives."""
    return first, second


class _PairStage(FunctionStage):
    """Base: calls a function for pairs, which gives one record or, if it is flat, many."""

    def __init__(self, place: Place, function: Any, method: str, flat: bool) -> None:
        super().__init__(place, function, method)
        self._flat = flat

    def pairs(
        self, call: Callable[..., Any], first: Iterable[Any], second: Iterable[Any]
    ) -> Iterator[Any]:
        """Yield what the function makes of all pairs of two lists."""
        if self._flat:
            for left in first:
                for right in second:
                    value = (left, right)
                    result = call(left, right)
                    if result is not None:
                        yield from result
        else:
            for left in first:
                for right in second:
                    value = (left, right)  # noqa: F841 - the record that a message names
                    yield call(left, right)


class JoinStage(_PairStage):
    """Join the records of both inputs that have equal keys; they come as chunks."""

    def __init__(
        self, place: Place, keys: tuple[Key, Key], function: Any, kind: JoinKind, tools: Tools
    ) -> None:
        super().__init__(place, function, "join", _is_flat(function))
        self._keys = Shipped(keys, place.describe())
        self._kind = kind
        self._tools = tools

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        keeps_left, keeps_right = self._kind.value
        likeness = Likeness(self.place)
        for key, left, right in self._tools.co_group(values, self._keys.unpack()):
            if left and right:
                yield from self.pairs(call, left, right)
                continue
            likeness.note(key, 0 if left else 1)
            if left and keeps_left:
                yield from self.pairs(call, left, _NOBODY)
            elif right and keeps_right:
                yield from self.pairs(call, _NOBODY, right)


class Likeness:
    """Find out, from keys without a partner, that the keys of the two sides can never be equal."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._seen: list[tuple[Any, ...]] = [(), ()]

    def note(self, key: Any, side: int) -> None:
        """Look at a key that only one side has; the first of each side counts."""
        if not self._seen[side] and key is not None:
            self._seen[side] = (key,)
            if all(self._seen):
                (first,), (second,) = self._seen
                require_like_values(self._place.name, first, second, where=self._place.describe())


class BroadcastJoinStage(_PairStage):
    """Join records with a list that every worker has.

    :param first_is_broadcast: the list is the first input.
    :param keeps: records without a partner appear.
    """

    def __init__(
        self,
        place: Place,
        function: Any,
        keys: tuple[Key, Key],
        table: BroadcastValue,
        *,
        first_is_broadcast: bool,
        keeps: bool,
    ) -> None:
        super().__init__(place, function, "join", _is_flat(function))
        self._keys = Shipped(keys, place.describe())
        self._table = table
        self._swapped = first_is_broadcast
        self._keeps = keeps

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        first, second = (key.function() for key in self._keys.unpack())
        stays, sent = (second, first) if self._swapped else (first, second)
        table: dict[Any, list[Any]] = {}
        for record in self._table.value:
            table.setdefault(sent(record), []).append(record)
        likeness = Likeness(self.place)
        if table:
            likeness.note(next(iter(table)), 0 if self._swapped else 1)
        for value in values:
            key = stays(value)
            partners: Iterable[Any] = table.get(key, ())
            if not partners:
                likeness.note(key, 1 if self._swapped else 0)
                if not self._keeps:
                    continue
                partners = _NOBODY
            if self._swapped:
                yield from self.pairs(call, partners, (value,))
            else:
                yield from self.pairs(call, (value,), partners)


class CoGroupStage(FunctionStage):
    """Call a function with both inputs' records of each key; they come as chunks."""

    def __init__(
        self,
        place: Place,
        keys: tuple[Key, Key],
        function: Any,
        sorts: tuple[tuple[SortKey, ...], tuple[SortKey, ...]],
        tools: Tools,
    ) -> None:
        super().__init__(place, function, "co_group")
        self._settings = Shipped((keys, sorts), place.describe())
        self._tools = tools

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        keys, sorts = self._settings.unpack()
        orders = [Sorting(sort) if sort else None for sort in sorts]
        likeness = Likeness(self.place)
        for key, left, right in self._tools.co_group(values, keys):
            if not left or not right:
                likeness.note(key, 0 if left else 1)
            sides = (
                iter(side) if order is None else self._tools.sort(side, order)
                for side, order in zip((left, right), orders, strict=True)
            )
            result = call(*sides)
            if result is not None:
                yield from result


class CrossStage(_PairStage):
    """Call a function for pairs that the carrier has made."""

    def __init__(self, place: Place, function: Any) -> None:
        super().__init__(place, function, "cross", flat=False)

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        for value in values:
            yield call(*value)


class BroadcastCrossStage(_PairStage):
    """Pair each record with each of a list that every worker has."""

    def __init__(
        self, place: Place, function: Any, table: BroadcastValue, *, first_is_broadcast: bool
    ) -> None:
        super().__init__(place, function, "cross", flat=False)
        self._table = table
        self._swapped = first_is_broadcast

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        table = self._table.value
        for value in values:
            if self._swapped:
                yield from self.pairs(call, table, (value,))
            else:
                yield from self.pairs(call, (value,), table)


def _is_flat(function: Any) -> bool:
    """Tell whether a join function gives any number of records for a pair."""
    method = getattr(function, "join", function)
    return isinstance(function, FlatJoinFunction) or inspect.isgeneratorfunction(method)
