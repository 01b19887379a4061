"""A sequence of whole numbers as a source."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.connectors.counted import CountedEnumerator, Part
from penstock.core.io import EnumeratorContext, Source, SourceBatch, SplitEnumerator, SplitRange
from penstock.errors import ConfigurationError

_CHUNK = 8192


class NumberSequenceSource(Source):
    """Read the numbers from `start` to `end`, both included.

    Each subtask has a contiguous piece of the sequence and reads it in order.

    >>> NumberSequenceSource(1, 10).bounded
    True
    """

    fixed_splits = True
    bounded = True

    def __init__(self, start: int, end: int) -> None:
        if start > end:
            raise ConfigurationError(
                "a number sequence must not start behind its end",
                where="NumberSequenceSource",
                got=f"start {start}, end {end}",
                todo="pass the smaller number first",
            )
        self._start = start
        self._total = end - start + 1

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return CountedEnumerator(context, self._total)

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        first = self._start + Part.named(split_range.split).before(self._total)
        end = first + split_range.end
        for chunk in range(first + split_range.start, end, _CHUNK):
            yield SourceBatch(list(range(chunk, min(chunk + _CHUNK, end))))
