"""A bounded source whose records have timestamps, with watermarks between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.connectors.collection import CollectionSource
from penstock.core.io import SourceBatch, SplitRange
from penstock.core.time import Watermark


class MarkedSource(CollectionSource):
    """Send records `(value, timestamp)` and watermarks, in the order given.

    For tests of programs: what comes out depends on the watermarks that stand between the records,
    not on when a generator is asked.

        env.from_source(MarkedSource([("a", 1), Watermark(5), ("b", 7)]), None, "letters")

    :param events: pairs of a value and its timestamp or None, and `Watermark` objects.
    """

    def __init__(self, events: Iterable[tuple[Any, int | None] | Watermark]) -> None:
        super().__init__(list(events))

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        for batch in super().read(split_range):
            values: list[Any] = []
            timestamps: list[int | None] = []
            marks: list[tuple[int, int]] = []
            for event in batch.values:
                if isinstance(event, Watermark):
                    marks.append((len(values), event.timestamp))
                else:
                    value, timestamp = event
                    values.append(value)
                    timestamps.append(timestamp)
            yield SourceBatch(values, timestamps, marks)
