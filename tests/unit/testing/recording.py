"""A sink that remembers what was published, and a source that never ends."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

from penstock.connectors.collection import CollectionSource
from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    EnumeratorContext,
    Position,
    ReadLimit,
    Sink,
    SinkWriter,
    SplitEnumerator,
    WriterContext,
)

_ids = itertools.count()
_published: dict[int, dict[int, list[tuple[int, Any]]]] = {}


class RecordingSink(Sink):
    """Keep what is published, by batch and in this process, whoever publishes it."""

    def __init__(self) -> None:
        self._id = next(_ids)
        _published[self._id] = {}

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer()

    def create_committer(self, context: CommitterContext) -> Committer:
        return _Committer(self._id)

    def by_subtask(self) -> dict[int, list[Any]]:
        """Return the values that each subtask published, in order."""
        found: dict[int, list[Any]] = {}
        for _, batch in sorted(_published[self._id].items()):
            for subtask, value in batch:
                found.setdefault(subtask, []).append(value)
        return found

    def values(self) -> list[Any]:
        """Return all values in the order of publishing."""
        batches = sorted(_published[self._id].items())
        return [value for _, batch in batches for _, value in batch]


class _Writer(SinkWriter):
    def __init__(self) -> None:
        self._values: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._values.append(value)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        values, self._values = self._values, []
        return [pickle.dumps(values)] if values else []


class _Committer(Committer):
    def __init__(self, sink_id: int) -> None:
        self._published = _published[sink_id]

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        self._published[batch_id] = [
            (committable.subtask, value)
            for committable in committables
            for value in pickle.loads(committable.payload)
        ]


class Forever(CollectionSource):
    """A collection behind which nobody knows that nothing follows."""

    bounded = False

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        enumerator = super().create_enumerator(context)
        latest = enumerator.latest

        def open_ended(start: Position, limit: ReadLimit) -> Position:
            position = latest(start, limit)
            splits = {name: {**entry, "done": False} for name, entry in position["splits"].items()}
            return {"splits": splits, "done": False}

        enumerator.latest = open_ended  # type: ignore[method-assign]
        return enumerator
