"""A list of the user's program as a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from penstock.connectors.file_paths import join, store_of
from penstock.connectors.journal import Journal
from penstock.connectors.positions import by_subtask, make_position, split_entry
from penstock.core.io import (
    EnumeratorContext,
    Position,
    ReadLimit,
    Source,
    SourceBatch,
    SourceProgress,
    SplitEnumerator,
    SplitRange,
)
from penstock.core.pickling import detached, dumps, dumps_for_workers, is_immutable, loads
from penstock.errors import SerializationError, SourceError, show_value

FRAME_RECORDS = 4096
FRAME_BYTES = 1 << 20
_SAMPLE = 100

_SPLIT = "0"


class CollectionSource(Source):
    """Read the elements of a list, in order, in one subtask.

    The elements stay in the user's process; each batch carries its share to the reader. At the
    first start they are written to the job's folder, and after a restart they are read from there.

    >>> CollectionSource(["a", "b"]).bounded
    True
    """

    fixed_splits = True
    bounded = True
    parallel = False

    def __init__(self, elements: list[Any]) -> None:
        self._elements: list[Any] | None = list(elements)

    def __getstate__(self) -> dict[str, Any]:
        # A worker gets its data with each range: the job that is sent to all stays small.
        return {"_elements": None}

    def kept_here(self) -> list[Any]:
        # Some of them will do: elements of one type are made of the same classes, mostly.
        elements = self._elements or []
        by_type = {type(element): element for element in reversed(elements)}
        return [*by_type.values(), *elements[:_SAMPLE]]

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _CollectionEnumerator(self._elements, context)

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        assert split_range.payload is not None
        skip, frames = loads(split_range.payload)
        left = split_range.end - split_range.start
        for frame in frames:
            values = loads(frame)[skip : skip + left]
            left -= len(values)
            skip = 0
            yield SourceBatch(values)


class _Frame(NamedTuple):
    """Where some elements stand in the file."""

    first: int
    records: int
    offset: int
    length: int


class _CollectionEnumerator(SplitEnumerator):
    def __init__(self, elements: list[Any] | None, context: EnumeratorContext) -> None:
        self._elements = elements
        self._context = context
        self._path = join(context.directory, "elements.bin")
        self._index = Journal(context.directory, "elements.json")
        self._frames: list[_Frame] = []
        self._size = 0

    def start(self) -> None:
        index = self._index.read()
        if index is None:
            index = self._write()
            # Last: whoever finds an index finds all elements too.
            self._index.write(index)
        self._frames = [_Frame(*entry) for entry in index]
        self._size = sum(frame.records for frame in self._frames)

    def initial(self) -> Position:
        return make_position({_SPLIT: split_entry(0, 0)})

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        at: int = start["splits"][_SPLIT]["at"]
        end = min(at + limit.max_records, self._size)
        size = 0
        for frame in self._frames_between(at, end):
            if size and size + frame.length > limit.max_bytes:
                end = frame.first
                break
            size += frame.length
        return make_position({_SPLIT: split_entry(end, 0, done=end == self._size)})

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        first: int = start["splits"][_SPLIT]["at"]
        entry = end["splits"][_SPLIT]
        if first == entry["at"]:
            return by_subtask([], self._context.parallelism)
        frames = self._frames_between(first, entry["at"])
        with store_of(self._path).open_input(self._path) as file:
            data = [_read(file, frame) for frame in frames]
        payload = dumps((first - frames[0].first, data))
        split_range = SplitRange(_SPLIT, first, entry["at"], payload)
        return by_subtask([(entry, split_range)], self._context.parallelism)

    def progress(self, initial: Position, at: Position) -> SourceProgress:
        read: int = at["splits"][_SPLIT]["at"]
        return SourceProgress(read, read / self._size if self._size else None)

    def _frames_between(self, start: int, end: int) -> list[_Frame]:
        return [f for f in self._frames if f.first < end and f.first + f.records > start]

    def _write(self) -> list[_Frame]:
        if self._elements is None:
            raise SourceError(
                "the elements of a collection are not at hand",
                where=f"source {self._context.operator!r}",
                got=f"nothing in {self._context.directory}",
                todo="start the job from the program that holds the collection",
            )
        frames = []
        offset = 0
        with store_of(self._path).open_output(self._path) as file:
            for first in range(0, len(self._elements), FRAME_RECORDS):
                chunk = self._elements[first : first + FRAME_RECORDS]
                for values_first, count, data in self._pack(first, _independent(chunk)):
                    file.write(data)
                    frames.append(_Frame(values_first, count, offset, len(data)))
                    offset += len(data)
        return frames

    def _pack(self, first: int, values: list[Any]) -> Iterator[tuple[int, int, bytes]]:
        """Yield the elements from number `first` on as frames that are not too large."""
        try:
            data = dumps_for_workers(values)
        except SerializationError:
            raise self._blame(first, values) from None
        if len(data) <= FRAME_BYTES or len(values) == 1:
            yield first, len(values), data
            return
        half = len(values) // 2
        yield from self._pack(first, values[:half])
        yield from self._pack(first + half, values[half:])

    def _blame(self, first: int, values: list[Any]) -> SerializationError:
        for index, value in enumerate(values, first):
            try:
                dumps(value)
            except SerializationError as error:
                return SerializationError(
                    f"element {index} of the collection cannot be pickled",
                    where=f"source {self._context.operator!r}",
                    got=error.got,
                    todo="put plain data into the collection: numbers, strings, tuples, "
                    "dataclasses",
                )
        return SerializationError(
            f"elements {first} to {first + len(values) - 1} of the collection cannot be pickled",
            where=f"source {self._context.operator!r}",
            got=show_value(values),
        )


def _independent(chunk: list[Any]) -> list[Any]:
    """Return the elements so that none is the same object as another one that could change.

    Pickled together, such elements would be one object in the reader as well, and a function that
    changes a record would change several.
    """
    seen: set[int] = set()
    values = []
    for value in chunk:
        if not is_immutable(value):
            if id(value) in seen:
                value = detached(value)
            seen.add(id(value))
        values.append(value)
    return values


def _read(file: Any, frame: _Frame) -> bytes:
    file.seek(frame.offset)
    data: bytes = file.read(frame.length)
    return data
