"""`datagen`: random or counted rows."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from penstock.connectors.counted import Part
from penstock.connectors.data_generator import BlockGenerator, DataGeneratorSource
from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table.factories.base import TableContext, TableFactory, TableSource

_LETTERS = "0123456789abcdef"
_RANGES: dict[type, tuple[int, int]] = {
    t.TinyIntType: (-(2**7), 2**7 - 1),
    t.SmallIntType: (-(2**15), 2**15 - 1),
    t.IntType: (-(2**31), 2**31 - 1),
    t.BigIntType: (-(2**63), 2**63 - 1),
}


class DatagenFactory(TableFactory):
    """Rows out of nothing, at a rate."""

    identifier = "datagen"
    options = frozenset({"rows-per-second", "number-of-rows", "scan.parallelism", "fields."})

    def source(self, context: TableContext) -> TableSource:
        """Return the source of a table."""
        fields = tuple(
            _FieldSpec(column.name, column.type, _of_field(context.options, column.name))
            for column in context.schema.fields
        )
        count = context.options.get("number-of-rows")
        limits = [limit for limit in (f.last() for f in fields) if limit is not None]
        if count is not None:
            limits.append(int(count))
        rate = float(context.options.get("rows-per-second", "10000"))
        total = min(limits) if limits else None
        source = DataGeneratorSource(RowGenerator(fields, context.name), total, rate)
        if total is not None and rate >= total:
            source = DataGeneratorSource(RowGenerator(fields, context.name), total)
        parallelism = context.options.get("scan.parallelism")
        return TableSource(source, parallelism=int(parallelism) if parallelism else None)


def _of_field(options: dict[str, str], name: str) -> dict[str, str]:
    prefix = f"fields.{name}."
    return {
        key.removeprefix(prefix): value for key, value in options.items() if key.startswith(prefix)
    }


@dataclass(frozen=True)
class _FieldSpec:
    name: str
    type: t.LogicalType
    options: dict[str, str]

    def is_sequence(self) -> bool:
        return self.options.get("kind", "random") == "sequence"

    def last(self) -> int | None:
        """Return how many values a sequence has."""
        if not self.is_sequence():
            return None
        return int(self.options["end"]) - int(self.options["start"]) + 1

    def column(self, index: range, chance: random.Random) -> Sequence[Any]:
        """Return the values of rows with these numbers."""
        if not self.is_sequence():
            make = _random_value(self.type, self.options, self.name)
            return [make(i, chance) for i in index]
        start = int(self.options["start"])
        numbers = range(start + index.start, start + index.stop, index.step)
        if isinstance(self.type, t.CharacterType):
            return [str(number) for number in numbers]
        if isinstance(self.type, t.ApproximateType):
            return [float(number) for number in numbers]
        return numbers


class RowGenerator(BlockGenerator):
    """Rows of a part, a block at a time: the same seed gives the same block."""

    def __init__(self, fields: tuple[_FieldSpec, ...], seed: str) -> None:
        self._fields = fields
        self._seed = seed

    def block(self, part: Part, number: int, size: int) -> list[tuple[Any, ...]]:
        """Return the rows of a block, made column by column."""
        first, last = (part.number + i * part.parts for i in (number * size, (number + 1) * size))
        chance = random.Random(f"{self._seed}/{part.name}/{number}")
        index = range(first, last, part.parts)
        columns = [field.column(index, chance) for field in self._fields]
        return list(zip(*columns, strict=True))


def _random_value(
    kind: t.LogicalType, options: dict[str, str], name: str
) -> Callable[[int, random.Random], Any]:
    maker = _maker(kind, options, name)
    rate = float(options.get("null-rate", "0"))
    if rate <= 0:
        return maker

    def make(index: int, chance: random.Random) -> Any:
        return None if chance.random() < rate else maker(index, chance)

    return make


def _maker(
    kind: t.LogicalType, options: dict[str, str], name: str
) -> Callable[[int, random.Random], Any]:
    for base, (low, high) in _RANGES.items():
        if isinstance(kind, base):
            least, most = int(options.get("min", low)), int(options.get("max", high))
            return lambda _, chance: chance.randint(least, most)
    if isinstance(kind, t.DecimalType):
        low_d = Decimal(options.get("min", "0"))
        high_d = Decimal(options.get("max", str(10 ** (kind.precision - kind.scale) - 1)))
        unit = Decimal(1).scaleb(-kind.scale)
        steps = int((high_d - low_d) / unit)
        return lambda _, chance: (low_d + unit * chance.randint(0, steps)).quantize(unit)
    if isinstance(kind, t.ApproximateType):
        bottom, top = float(options.get("min", "0")), float(options.get("max", "1e9"))
        return lambda _, chance: bottom + (top - bottom) * chance.random()
    if isinstance(kind, t.CharacterType):
        length = int(options.get("length", kind.length if kind.length < t.MAX_LENGTH else 100))
        return lambda _, chance: "".join(chance.choices(_LETTERS, k=length))
    if isinstance(kind, t.BooleanType):
        return lambda _, chance: chance.random() < 0.5
    if isinstance(kind, t.BinaryStringType):
        size = int(options.get("length", 100))
        return lambda _, chance: chance.randbytes(size)
    if isinstance(kind, t.DatetimeType):
        return _time_maker(kind)
    if isinstance(kind, t.ArrayType):
        element = _maker(kind.element, options, name)
        return lambda i, chance: [element(i, chance) for _ in range(3)]
    if isinstance(kind, t.RowType):
        parts = [_maker(field.type, options, name) for field in kind.fields]
        return lambda i, chance: tuple(part(i, chance) for part in parts)
    raise ValidationError(
        f"datagen cannot make values of type {kind.as_summary_string()}",
        where=f"column {name}",
        todo="leave the column out, or compute it",
    )


def _time_maker(kind: t.DatetimeType) -> Callable[[int, random.Random], Any]:
    # A row must be the same when it is read again: its time follows from its number.
    begin = datetime.datetime(2020, 1, 1)
    second = datetime.timedelta(seconds=1)
    if isinstance(kind, t.DateType):
        return lambda i, _: (begin + i * second).date()
    if isinstance(kind, t.TimeType):
        return lambda i, _: (begin + i * second).time()
    if isinstance(kind, t.LocalZonedTimestampType):
        zoned = begin.replace(tzinfo=datetime.timezone.utc)
        return lambda i, _: zoned + i * second
    return lambda i, _: begin + i * second
