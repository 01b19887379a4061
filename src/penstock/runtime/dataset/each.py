"""Stages over single records: map, flat_map, filter, map_partition, numbering, sampling, output."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from penstock.core.batch.formats import InputFormat, OutputFormat
from penstock.core.io import ReaderContext, Source
from penstock.graph.dataset.nodes import EachKind
from penstock.runtime.dataset.context import Place
from penstock.runtime.dataset.stage import FunctionStage, PlainStage, Shipped, Stage


class MapStage(FunctionStage):
    """One record in, one out."""

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        for value in values:
            yield call(value)


class FlatMapStage(FunctionStage):
    """One record in, any number out."""

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        for value in values:
            result = call(value)
            if result is not None:
                yield from result


class FilterStage(FunctionStage):
    """Keep a record or drop it."""

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        for value in values:
            if call(value):
                yield value


class MapPartitionStage(FunctionStage):
    """A whole partition in, any number of records out."""

    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        result = call(values)
        if result is not None:
            yield from result


EACH: dict[EachKind, type[FunctionStage]] = {
    EachKind.MAP: MapStage,
    EachKind.FLAT_MAP: FlatMapStage,
    EachKind.FILTER: FilterStage,
    EachKind.MAP_PARTITION: MapPartitionStage,
}


class ReadStage(PlainStage):
    """Turn pieces of a source into its records."""

    def __init__(self, place: Place, source: Source | InputFormat[Any]) -> None:
        super().__init__(place)
        self._source = Shipped(source, place.describe())

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        source = self._source.unpack()
        if isinstance(source, InputFormat):
            for piece in values:
                yield from source.read(piece)
            return
        place = self.place
        context = ReaderContext(subtask, place.parallelism, operator=place.name)
        reader = source.create_reader(context)
        reader.open()
        try:
            for piece in values:
                for batch in reader.read(piece):
                    yield from batch.values
        finally:
            reader.close()


class ElementsStage(PlainStage):
    """Turn pickled lists into their elements."""

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        for shipped in values:
            yield from shipped.unpack()


class CountStage(PlainStage):
    """Replace a partition by the number of its records."""

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        yield sum(1 for _ in values)


class LimitStage(PlainStage):
    """Keep the first records of a partition."""

    def __init__(self, place: Place, count: int) -> None:
        super().__init__(place)
        self._count = count

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        return islice(values, self._count)


class NumberStage(PlainStage):
    """Pair each record with its number, `(number, record)`.

    :param offsets: number of the first record of each partition; None: numbers that are unique,
        not consecutive.
    """

    def __init__(self, place: Place, offsets: list[int] | None) -> None:
        super().__init__(place)
        self._offsets = offsets

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        if self._offsets is not None:
            yield from enumerate(values, self._offsets[subtask])
            return
        shift = max(self.place.parallelism - 1, 0).bit_length()
        for number, value in enumerate(values):
            yield (number << shift) + subtask, value


class ChanceStage(PlainStage):
    """Keep each record with a probability, or so many times on average."""

    def __init__(self, place: Place, fraction: float, with_replacement: bool, seed: int) -> None:
        super().__init__(place)
        self._fraction = fraction
        self._with_replacement = with_replacement
        self._seed = seed

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        chance = random.Random(f"{self._seed}/{subtask}")
        for value in values:
            for _ in range(self._times(chance)):
                yield value

    def _times(self, chance: random.Random) -> int:
        if not self._with_replacement:
            return int(chance.random() < self._fraction)
        # Poisson: how many events of a rate fall into one unit of time.
        times, passed = 0, chance.expovariate(1.0)
        while passed < self._fraction:
            times += 1
            passed += chance.expovariate(1.0)
        return times


class PickStage(PlainStage):
    """Keep the records with the given numbers, as often as each number is given."""

    def __init__(self, place: Place, offsets: list[int], numbers: list[int]) -> None:
        super().__init__(place)
        self._offsets = offsets
        self._times = Counter(numbers)

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        for number, value in enumerate(values, self._offsets[subtask]):
            for _ in range(self._times[number]):
                yield value


class OutputStage(Stage):
    """Hand the records to an `OutputFormat`; yields the number of records."""

    def __init__(self, place: Place, output: OutputFormat[Any]) -> None:
        self.place = place
        self._output = Shipped(output, place.describe())

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        output = self._output.unpack()
        output.configure(self.place.parameters)
        output.open(subtask, self.place.parallelism)
        count = 0
        try:
            for value in values:
                output.write_record(value)
                count += 1
        except BaseException:
            # Before close, which would make what was written look whole.
            output.try_cleanup_on_error()
            raise
        finally:
            output.close()
        yield count
