"""Sinks that send a batch's records when the batch is durable: Flink's write-ahead template."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from itertools import groupby
from typing import Any

from penstock.connectors.journal import LastBatch
from penstock.connectors.retrying import Again, Retries
from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.core.pickling import detached, dumps, loads
from penstock.errors import SinkError

_logger = logging.getLogger("penstock.write_ahead")

_CHUNK = 4096


class CheckpointCommitter:
    """Remember, where the records go, which checkpoints of which subtask have gone there.

    Without one, the job's own folder remembers: a batch whose sending was interrupted is sent
    again as a whole.
    """

    def __init__(self) -> None:
        self.job_id = ""
        self.operator_id = ""

    def create_resource(self) -> None:
        """Make what is needed to remember, a table say. Called before `open`, once for a job."""

    def open(self) -> None:
        """Connect."""

    def close(self) -> None:
        """Let go of resources."""

    @abstractmethod
    def commit_checkpoint(self, subtask_idx: int, checkpoint_id: int) -> None:
        """Remember that a checkpoint of a subtask has been sent."""

    @abstractmethod
    def is_checkpoint_committed(self, subtask_idx: int, checkpoint_id: int) -> bool:
        """Tell whether a checkpoint of a subtask has been sent."""


class GenericWriteAheadSink(Sink):
    """Keep records until their batch is durable, then send them together.

    As safe as what remembers the sending: exactly once if a `CheckpointCommitter` remembers it
    together with the records, at least once otherwise.

    >>> class Shout(GenericWriteAheadSink):
    ...     def send_values(self, values, checkpoint_id, timestamp):
    ...         print(*values)
    ...         return True
    """

    def __init__(self, committer: CheckpointCommitter | None = None) -> None:
        self._committer = committer

    @abstractmethod
    def send_values(self, values: Iterable[Any], checkpoint_id: int, timestamp: int) -> bool:
        """Send the records of one subtask. Runs in the user's process.

        :param checkpoint_id: number of the batch.
        :param timestamp: processing time at which the records were written.
        :returns: whether they have arrived; if not, the same call is made again after a while.
        """

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _ValueWriter(context.now)

    def create_committer(self, context: CommitterContext) -> Committer:
        return _WriteAheadCommitter(self, self._committer, context)


class _ValueWriter(SinkWriter):
    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._values: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._values.append(detached(value))

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        values, self._values = self._values, []
        chunks = (values[i : i + _CHUNK] for i in range(0, len(values), _CHUNK))
        return [dumps((self._now(), chunk)) for chunk in chunks]


class _WriteAheadCommitter(Committer):
    def __init__(
        self,
        sink: GenericWriteAheadSink,
        remembers: CheckpointCommitter | None,
        context: CommitterContext,
    ) -> None:
        self._sink = sink
        self._retries = Retries(_logger, context.operator, context.stopping)
        self._published = LastBatch(context.directory, fresh=not context.restored)
        self._remembers = remembers
        if remembers is not None:
            remembers.job_id = context.job_id
            remembers.operator_id = context.uid
            remembers.create_resource()
            remembers.open()

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if self._published.includes(batch_id):
            return
        for subtask, group in groupby(committables, key=lambda committable: committable.subtask):
            self._send(subtask, batch_id, [loads(committable.payload) for committable in group])
        self._published.advance(batch_id)

    def close(self) -> None:
        if self._remembers is not None:
            self._remembers.close()

    def _send(self, subtask: int, batch_id: int, chunks: list[tuple[int, list[Any]]]) -> None:
        remembers = self._remembers
        if remembers is not None and remembers.is_checkpoint_committed(subtask, batch_id):
            return
        values = [value for _, chunk in chunks for value in chunk]
        self._retries.run(partial(self._attempt, values, batch_id, chunks[0][0]))
        if remembers is not None:
            remembers.commit_checkpoint(subtask, batch_id)

    def _attempt(self, values: list[Any], batch_id: int, timestamp: int) -> None:
        if not self._sink.send_values(values, batch_id, timestamp):
            name = f"{type(self._sink).__name__}.send_values()"
            failed = SinkError(
                "the records of a batch could not be sent",
                got=f"{name} returned False",
                todo="return True once the records have arrived",
            )
            raise Again(f"{name} returned False", failed)
