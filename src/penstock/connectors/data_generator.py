"""Generated records as a source, at a rate if wanted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.common import TypeInformation
from penstock.connectors.counted import CountedEnumerator, Part
from penstock.core.functions import Function
from penstock.core.io import EnumeratorContext, Source, SourceBatch, SplitEnumerator, SplitRange
from penstock.errors import ConfigurationError, show_value

_CHUNK = 1024


class GeneratorFunction(Function):
    """Make a record out of its index."""

    @abstractmethod
    def map(self, value: int) -> Any:
        """Return the record of an index; always the same one."""


class BlockGenerator:
    """Make the records of a part in blocks, where one by one would be slow."""

    def block(self, part: Part, number: int, size: int) -> list[Any]:
        """Return the records at places `number * size` and following of a part, `size` of them.

        They must be the same ones every time: a batch that begins or ends within a block makes it
        again.
        """
        raise TypeError("abstract")


@dataclass(frozen=True)
class RateLimiterStrategy:
    """How fast records are made."""

    #: Of all subtasks together; None: as fast as they are taken.
    records_per_second: float | None

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """Make so many records a second, of all subtasks together."""
        return RateLimiterStrategy(records_per_second)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """Make records as fast as they are taken."""
        return RateLimiterStrategy(None)


class DataGeneratorSource(Source):
    """Make records out of their indexes 0, 1, 2 ...

    Index i is made by subtask i modulo the parallelism, so that the subtasks advance together. The
    function must give the same record for the same index: a batch may be read again.

    :param generator_function: called with the index, or a `GeneratorFunction`; a `BlockGenerator`
        is asked for many records at once.
    :param count: how many records; None: without end.
    :param rate: records a second of all subtasks together, or a `RateLimiterStrategy`; None: as
        fast as they are taken.
    :param type_info: type of the records.

    >>> DataGeneratorSource(lambda index: f"user-{index % 3}", count=9, rate=3).bounded
    True
    >>> from penstock.common import Types
    >>> per_second = RateLimiterStrategy.per_second(100)
    >>> source = DataGeneratorSource(str, 1000, per_second, Types.STRING())
    """

    fixed_splits = True

    def __init__(
        self,
        generator_function: Callable[[int], Any] | GeneratorFunction | BlockGenerator,
        count: int | None = None,
        rate: float | RateLimiterStrategy | None = None,
        type_info: TypeInformation | None = None,
    ) -> None:
        if isinstance(rate, RateLimiterStrategy):
            rate = rate.records_per_second
        function: Any = getattr(generator_function, "map", generator_function)
        makes = callable(function) or isinstance(function, BlockGenerator)
        _check(makes, "function", generator_function, "pass a callable")
        _check(count is None or count >= 0, "count", count, "pass zero or more, or None")
        _check(rate is None or rate > 0, "rate", rate, "pass records a second above zero, or None")
        self._function = function
        self._count = count
        self._rate = rate
        self._type = type_info
        self.bounded = count is not None

    def get_produced_type(self) -> TypeInformation | None:
        return self._type

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return CountedEnumerator(context, self._count, self._rate)

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        part = Part.named(split_range.split)
        function = self._function
        if isinstance(function, BlockGenerator):
            yield from _blocks(function, part, split_range.start, split_range.end)
            return
        for chunk in range(split_range.start, split_range.end, _CHUNK):
            end = min(chunk + _CHUNK, split_range.end)
            first, last = (part.number + i * part.parts for i in (chunk, end))
            yield SourceBatch([function(index) for index in range(first, last, part.parts)])


def _blocks(maker: BlockGenerator, part: Part, start: int, end: int) -> Iterator[SourceBatch]:
    for number in range(start // _CHUNK, -(-end // _CHUNK)):
        first = number * _CHUNK
        records = maker.block(part, number, _CHUNK)
        yield SourceBatch(records[max(start - first, 0) : end - first])


def _check(right: bool, name: str, value: Any, todo: str) -> None:
    if not right:
        raise ConfigurationError(
            f"a data generator cannot work with this {name}",
            where="DataGeneratorSource",
            got=show_value(value),
            todo=todo,
        )
