"""Records of another source as rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.core.io import (
    CheckContext,
    EnumeratorContext,
    ReaderContext,
    Source,
    SourceBatch,
    SourceReader,
    SplitEnumerator,
    SplitRange,
)

#: Makes rows of the records of a chunk.
Convert = Callable[[list[Any]], list[Any]]


class ConvertedSource(Source):
    """A source whose records are converted where they are read.

    :param make_convert: makes the conversion, in a worker.
    """

    def __init__(self, source: Source, make_convert: Callable[[], Convert]) -> None:
        self._source = source
        self._make_convert = make_convert
        self.bounded = source.bounded
        self.fixed_splits = source.fixed_splits
        self.parallel = source.parallel

    def check(self, context: CheckContext) -> None:
        """Ask the source itself."""
        self._source.check(context)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        """Return the enumerator of the source itself."""
        return self._source.create_enumerator(context)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        """Return a reader that converts what the source's own one reads."""
        return _ConvertedReader(self._source.create_reader(context), self._make_convert())


class _ConvertedReader(SourceReader):
    def __init__(self, reader: SourceReader, convert: Convert) -> None:
        self._reader = reader
        self._convert = convert

    def open(self) -> None:
        self._reader.open()

    def prepare(self, ranges: list[SplitRange]) -> None:
        self._reader.prepare(ranges)

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        for batch in self._reader.read(split_range):
            yield SourceBatch(self._convert(batch.values), size=batch.size)

    def close(self) -> None:
        self._reader.close()
