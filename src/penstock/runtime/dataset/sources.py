"""What the subtasks of a source read: pieces of it, dealt out before anything runs."""

from __future__ import annotations

import tempfile
import time
from itertools import pairwise
from typing import Any

from penstock.core.io import EnumeratorContext, ReadLimit, Source, SplitRange
from penstock.errors import ProgramError, SerializationError, show_value
from penstock.runtime.dataset.stage import Shipped

_EVERYTHING = ReadLimit(1 << 62, 1 << 62)
#: Elements of a collection that are pickled together.
_CHUNK = 4096


def source_pieces(source: Source, parallelism: int, name: str) -> list[list[SplitRange]]:
    """Return the ranges of a bounded source, one list for each subtask.

    :raises ProgramError: if the source never ends.
    """
    if not source.bounded:
        raise ProgramError(
            "a data set needs a source that ends by itself",
            where=f"source {name!r}",
            got=type(source).__name__,
            todo="bound the source, or use the DataStream API",
        )
    failures: list[BaseException] = []
    width = parallelism if source.parallel else 1
    with tempfile.TemporaryDirectory(prefix="penstock-source-") as folder:
        enumerator = source.create_enumerator(
            EnumeratorContext(
                uid=name,
                operator=name,
                parallelism=width,
                directory=folder,
                restored=None,
                wake=lambda: None,
                fail=failures.append,
                now=lambda: int(time.time() * 1000),
            )
        )
        try:
            return _all_ranges(enumerator, width)
        finally:
            enumerator.close()
            if failures:
                raise failures[0]


def _all_ranges(enumerator: Any, width: int) -> list[list[SplitRange]]:
    enumerator.start()
    pieces: list[list[SplitRange]] = [[] for _ in range(width)]
    position = enumerator.initial()
    while True:
        end = enumerator.latest(position, _EVERYTHING)
        for mine, more in zip(pieces, enumerator.plan(position, end), strict=True):
            mine.extend(more)
        if end["done"] or end == position:
            return pieces
        position = end


def element_pieces(elements: list[Any], parallelism: int, where: str) -> list[list[Shipped]]:
    """Return the elements of a collection in their order, pickled, about as many per subtask.

    :raises SerializationError: naming an element that cannot be pickled.
    """
    size = len(elements)
    starts = [size * index // parallelism for index in range(parallelism + 1)]
    try:
        return [
            [
                Shipped(elements[at : min(at + _CHUNK, end)], where)
                for at in range(start, end, _CHUNK)
            ]
            for start, end in pairwise(starts)
        ]
    except SerializationError as error:
        raise _blame(elements, where) or error from None


def _blame(elements: list[Any], where: str) -> SerializationError | None:
    for index, element in enumerate(elements):
        try:
            Shipped(element, where)
        except SerializationError:
            return SerializationError(
                f"element {index} of the collection cannot be pickled",
                where=where,
                got=show_value(element),
                todo="put plain data into the collection: numbers, strings, tuples, dataclasses",
            )
    return None
