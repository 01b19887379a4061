"""Regular joins: both sides are kept, and every change of one side meets the other side's rows.

A side keeps each row with the number of times it is there and, on a side that outer, semi and anti
joins must know it of, with the number of its partners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.core.sql.arrays import frozen
from penstock.graph.relational.specs import DELETE, INSERT
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.table.expiring import ExpiringOperator
from penstock.runtime.operators.table.programs import load_program
from penstock.runtime.state.tables import MapTable


class _Side:
    """The rows of one input, by key."""

    def __init__(self, table: MapTable, width: int, changes: bool, counts_partners: bool) -> None:
        self.table = table
        self.width = width
        self.changes = changes
        self.counts_partners = counts_partners

    def split(self, value: tuple[Any, ...]) -> tuple[tuple[Any, ...], int]:
        """Return row and kind."""
        return (value[:-1], value[-1]) if self.changes else (value, INSERT)

    def rows(self, key: Any) -> list[tuple[Any, Any]]:
        """Return the rows of a key with what is kept of them."""
        if self.counts_partners:
            return [
                (held[2] if len(held) > 2 else name, held) for name, held in self.table.items(key)
            ]
        return [
            (held[2], held) if type(held) is tuple else (name, held)
            for name, held in self.table.items(key)
        ]

    def add(self, key: Any, row: tuple[Any, ...], partners: int = 0) -> None:
        """Add a row."""
        name = hashable(row)
        held = self.table.get(key, name)
        count = 1 if held is None else _times(held) + 1
        self.table.put(key, name, self._kept(name, row, count, partners))

    def _kept(self, name: Any, row: Any, count: int, partners: int) -> Any:
        if name is not row:
            return count, partners, row  # its name is not the row itself
        return (count, partners) if self.counts_partners else count

    def take(self, key: Any, row: tuple[Any, ...]) -> None:
        """Take a row back; nothing happens if it is not there."""
        name = hashable(row)
        held = self.table.get(key, name)
        if held is None:
            return
        count = _times(held)
        if count <= 1:
            self.table.discard(key, name)
        else:
            partners = held[1] if type(held) is tuple else 0
            self.table.put(key, name, self._kept(name, row, count - 1, partners))

    def set_partners(self, key: Any, row: tuple[Any, ...], held: Any, partners: int) -> None:
        """Set the number of partners of a row."""
        self.table.put(key, hashable(row), (held[0], partners, *held[2:]))


def hashable(row: tuple[Any, ...]) -> Any:
    """Return a row under which it can be found: itself, unless it holds lists or dicts."""
    try:
        hash(row)
    except TypeError:
        return frozen(row)
    return row


class JoinOperator(ExpiringOperator):
    """Inner, left, right and full joins."""

    def open(self) -> None:
        """Load the condition."""
        assert self.backend is not None
        spec = self.spec
        self._keys = self.backend.context
        outer = (spec.kind in ("left", "full"), spec.kind in ("right", "full"))
        self._outer = outer
        self._sides = [
            _Side(self.backend.table(name, "map"), spec.widths[i], spec.changes[i], outer[i])
            for i, name in enumerate(("left", "right"))
        ]
        self._test: Callable[[Any, Any], bool] | None = None
        if spec.condition is not None:
            self._test = load_program(self, spec.condition)["matches"]
        self._strict = spec.strict_keys
        self._kinds = spec.emits_kinds
        self._pads = [(None,) * width for width in spec.widths]
        super().open()

    def process(self, value: Any) -> None:
        """Take one row of the left input."""
        self.emit_all(self._changed([self._keys.key], [value], 0))

    def process2(self, value: Any) -> None:
        """Take one row of the right input."""
        self.emit_all(self._changed([self._keys.key], [value], 1))

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many rows of the left input."""
        self.scope.timestamp = None
        self.touch(keys)
        self.emit_all(self._changed(keys, values, 0))

    def process_keyed2(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many rows of the right input."""
        self.scope.timestamp = None
        self.touch(keys)
        self.emit_all(self._changed(keys, values, 1))

    def _changed(self, keys: list[Any], values: list[Any], number: int) -> Iterator[Any]:
        side = self._sides[number]
        for key, value in zip(keys, values, strict=True):
            row, kind = side.split(value)
            results = (
                self._taken(key, row, kind, number)
                if kind & 1
                else self._added(key, row, kind, number)
            )
            if self._kinds:
                yield from results
            else:
                for result in results:
                    yield result[:-1]

    def _partners(self, key: Any, row: tuple[Any, ...], number: int) -> list[tuple[Any, Any]]:
        for position in self._strict[number]:
            if row[position] is None:
                return []
        others = self._sides[1 - number].rows(key)
        test = self._test
        if test is None:
            return others
        if number == 0:
            return [pair for pair in others if test(row, pair[0])]
        return [pair for pair in others if test(pair[0], row)]

    def _pair(self, row: Any, other: Any, kind: int, number: int) -> tuple[Any, ...]:
        return (*row, *other, kind) if number == 0 else (*other, *row, kind)

    def _added(self, key: Any, row: Any, kind: int, number: int) -> Iterator[Any]:
        side, other_side = self._sides[number], self._sides[1 - number]
        is_outer, other_outer = self._outer[number], self._outer[1 - number]
        partners = self._partners(key, row, number)
        if is_outer:
            if not partners:
                yield self._pair(row, self._pads[1 - number], INSERT, number)
            side.add(key, row, _size(partners, other_outer))
            kind = INSERT
        else:
            side.add(key, row)
        for other, held in partners:
            if not other_outer:
                for _ in range(_times(held)):
                    yield self._pair(row, other, kind, number)
                continue
            count, known = held[:2]
            for _ in range(count):
                if known == 0:
                    yield self._pair(self._pads[number], other, DELETE, number)
                yield self._pair(row, other, INSERT, number)
            other_side.set_partners(key, other, held, known + 1)

    def _taken(self, key: Any, row: Any, kind: int, number: int) -> Iterator[Any]:
        side, other_side = self._sides[number], self._sides[1 - number]
        is_outer, other_outer = self._outer[number], self._outer[1 - number]
        side.take(key, row)
        partners = self._partners(key, row, number)
        if is_outer:
            kind = DELETE
            if not partners:
                yield self._pair(row, self._pads[1 - number], kind, number)
        for other, held in partners:
            for _ in range(_times(held)):
                yield self._pair(row, other, kind, number)
        if not other_outer:
            return
        for other, held in partners:
            count, known = held[:2]
            if known == 1:
                for _ in range(count):
                    yield self._pair(self._pads[number], other, INSERT, number)
            other_side.set_partners(key, other, held, known - 1)


def _times(held: Any) -> int:
    return held[0] if type(held) is tuple else held


def _size(partners: list[tuple[Any, Any]], counts: bool) -> int:
    return sum(_times(held) for _, held in partners)


class SemiJoinOperator(JoinOperator):
    """Semi and anti joins: rows of the left side that have a partner, or have none."""

    def open(self) -> None:
        """Load the condition."""
        super().open()
        self._sides[0].counts_partners = True
        self._anti = self.spec.kind == "anti"

    def _added(self, key: Any, row: Any, kind: int, number: int) -> Iterator[Any]:
        yield from self._any(key, row, kind, number)

    def _taken(self, key: Any, row: Any, kind: int, number: int) -> Iterator[Any]:
        yield from self._any(key, row, kind, number)

    def _any(self, key: Any, row: Any, kind: int, number: int) -> Iterator[Any]:
        if number == 0:
            partners = self._partners(key, row, 0)
            if bool(partners) is not self._anti:
                yield (*row, kind)
            if kind & 1:
                self._sides[0].take(key, row)
            else:
                self._sides[0].add(key, row, _size(partners, False))
            return
        yield from self._right(key, row, kind)

    def _right(self, key: Any, row: Any, kind: int) -> Iterator[Any]:
        left, right = self._sides
        partners = self._partners(key, row, 1)
        if kind & 1:
            right.take(key, row)
            for other, held in partners:
                count, known = held[:2]
                if known == 1:
                    for _ in range(count):
                        yield (*other, INSERT if self._anti else kind)
                left.set_partners(key, other, held, known - 1)
            return
        right.add(key, row)
        for other, held in partners:
            count, known = held[:2]
            if known == 0:
                for _ in range(count):
                    yield (*other, DELETE if self._anti else kind)
            left.set_partners(key, other, held, known + 1)


def make_join_operator(plan: Any, context: Any, scope: Any) -> Operator:
    """Return the operator of a join."""
    one_sided = plan.spec.kind in ("semi", "anti")
    return (SemiJoinOperator if one_sided else JoinOperator)(plan, context, scope)
