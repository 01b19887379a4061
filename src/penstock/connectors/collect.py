"""Hand the records of a stream to the program that started the job."""

from __future__ import annotations

import queue
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.core.pickling import detached, dumps, loads

_CHUNK = 4096


class Collector(Iterator[Any]):
    """Iterate over the records of a running job; ends when the job does.

    Records come as batches are published, each batch once. A job that fails raises its error here,
    behind the records that came before. Leaving early: `close()`, or use it in a `with`.
    """

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex
        self._entries: queue.SimpleQueue[list[Any] | _End] = queue.SimpleQueue()
        self._current: Iterator[Any] = iter(())
        self._last_batch = -1
        self._lock = threading.Lock()
        self._closed = False
        self._on_close: Callable[[], None] | None = None

    def __iter__(self) -> Collector:
        return self

    def __next__(self) -> Any:
        while True:
            for value in self._current:
                return value
            if self._closed:
                raise StopIteration
            entry = self._entries.get()
            if isinstance(entry, _End):
                self._entries.put(entry)  # for whoever asks once more
                if entry.error is not None and not self._closed:
                    raise entry.error
                raise StopIteration
            self._current = iter(entry)

    def deliver(self, batch_id: int, values: list[Any]) -> None:
        """Take the records of a batch, unless it has been delivered already."""
        with self._lock:
            if batch_id > self._last_batch:
                self._last_batch = batch_id
                self._entries.put(values)

    def finish(self) -> None:
        """Note that the job has ended well: nothing will follow."""
        self._entries.put(_End(None))

    def fail(self, error: BaseException) -> None:
        """Note that the job has failed."""
        self._entries.put(_End(error))

    def on_close(self, cancel: Callable[[], None]) -> None:
        """Set what `close` calls to end the job."""
        self._on_close = cancel

    def close(self) -> None:
        """Want no more records, and cancel the job. May be called again."""
        if self._closed:
            return
        self._closed = True
        self._current = iter(())
        # Wakes up another thread that waits for a record.
        self._entries.put(_End(None))
        if self._on_close is not None:
            self._on_close()

    def __enter__(self) -> Collector:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class _End:
    def __init__(self, error: BaseException | None) -> None:
        self.error = error


#: Collectors that somebody still holds, by id.
_collectors: weakref.WeakValueDictionary[str, Collector] = weakref.WeakValueDictionary()


def open_collector() -> Collector:
    """Return a new collector; pass its `id` to a `CollectSink` of the same process.

    >>> collector = open_collector()
    >>> sink = CollectSink(collector.id)
    """
    collector = Collector()
    _collectors[collector.id] = collector
    return collector


class CollectSink(Sink):
    """Send all records to a collector.

    If the program no longer holds the collector, the records are dropped.
    """

    def __init__(self, collector_id: str) -> None:
        self._id = collector_id

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _CollectWriter()

    def create_committer(self, context: CommitterContext) -> Committer:
        return _CollectCommitter(self._id)


class _CollectWriter(SinkWriter):
    def __init__(self) -> None:
        self._values: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._values.append(detached(value))

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        values, self._values = self._values, []
        return [dumps(values[i : i + _CHUNK]) for i in range(0, len(values), _CHUNK)]


class _CollectCommitter(Committer):
    def __init__(self, collector_id: str) -> None:
        self._id = collector_id

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        collector = _collectors.get(self._id)
        if collector is None:
            return
        values: list[Any] = []
        for committable in sorted(committables, key=lambda c: c.subtask):
            values += loads(committable.payload)
        collector.deliver(batch_id, values)
