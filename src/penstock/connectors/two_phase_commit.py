"""The sink behind a `TwoPhaseCommitSinkFunction`.

A transaction is noted in the sink's folder before it is used. So one whose batch is run again, by
whatever cause, is found and undone: by the subtask that repeats the batch, or at a restart.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator
from typing import Any

import cloudpickle

from penstock.connectors.file_paths import join, store_of
from penstock.connectors.journal import LastBatch
from penstock.core.functions.sink import SinkFunction
from penstock.core.functions.two_phase_commit import AnyTwoPhaseCommit
from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.errors import SerializationError

_NOTES = "transactions"


class TwoPhaseCommitSink(Sink):
    """Write through a function that has transactions."""

    def __init__(self, function: AnyTwoPhaseCommit) -> None:
        self._function = function
        self.functions = (function,)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _TransactionWriter(self._function, context)

    def create_committer(self, context: CommitterContext) -> Committer:
        # A copy: what commits is not what some subtask has opened.
        function = cloudpickle.loads(cloudpickle.dumps(self._function))
        return _TransactionCommitter(function, context)


class _Notes:
    """Transactions that have been begun and not ended, one file each."""

    def __init__(self, directory: str | None) -> None:
        self._folder = None if directory is None else join(directory, _NOTES)
        if self._folder is not None:
            self._store = store_of(self._folder)

    def write(self, name: str, transaction: bytes) -> None:
        if self._folder is not None:
            self._store.write_whole(join(self._folder, name), transaction)

    def remove(self, name: str) -> None:
        if self._folder is not None:
            self._store.delete_whole(join(self._folder, name))

    def left(self) -> Iterator[tuple[int, int, str, Any]]:
        """Return subtask, number, name and transaction of each note."""
        if self._folder is None:
            return
        for name in self._store.names(self._folder):
            subtask, number, _ = name.split(".")
            data = self._store.read_whole(join(self._folder, name))
            if data is not None:
                yield int(subtask), int(number), name, pickle.loads(data)


class _InvokeContext(SinkFunction.Context):
    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self.time: int | None = None

    def current_processing_time(self) -> int:
        return self._context.now()

    def current_watermark(self) -> int:
        return self._context.watermark()

    def timestamp(self) -> int | None:
        return self.time


class _TransactionWriter(SinkWriter):
    def __init__(self, function: AnyTwoPhaseCommit, context: WriterContext) -> None:
        self._function = function
        self._subtask = context.subtask
        self._notes = _Notes(context.directory)
        self._context = _InvokeContext(context)
        #: How many transactions this subtask has pre-committed, in batches that count.
        self._count: int = context.restored or 0
        self._name = ""
        self._transaction: Any = None

    def write(self, value: Any, timestamp: int | None) -> None:
        if self._transaction is None:
            self._begin()
        self._context.time = timestamp
        self._function.invoke(self._transaction, value, self._context)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        transaction = self._transaction
        if transaction is None:
            return []
        self._function.pre_commit(transaction)
        prepared = _dumped(transaction)
        self._notes.write(self._name, prepared)
        self._transaction = None
        self._count += 1
        return [pickle.dumps((self._name, prepared))]

    def snapshot_state(self) -> int:
        return self._count

    def close(self) -> None:
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            self._function.abort(transaction)
            self._notes.remove(self._name)

    def _begin(self) -> None:
        for subtask, number, name, transaction in self._notes.left():
            # Of an attempt at this batch, or a later one, that was given up: it may hold locks.
            if subtask == self._subtask and number >= self._count:
                self._function.recover_and_abort(transaction)
                self._notes.remove(name)
        transaction = self._function.begin_transaction()
        self._name = f"{self._subtask}.{self._count}.{uuid.uuid4().hex}"
        self._notes.write(self._name, _dumped(transaction))
        self._transaction = transaction


class _TransactionCommitter(Committer):
    def __init__(self, function: AnyTwoPhaseCommit, context: CommitterContext) -> None:
        self._function = function
        self._notes = _Notes(context.directory)
        self._published = LastBatch(context.directory, fresh=not context.restored)
        self._recovering = context.restored

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if self._published.includes(batch_id):
            return
        function = self._function
        end = function.recover_and_commit if self._recovering else function.commit
        named = [pickle.loads(committable.payload) for committable in committables]
        for _, transaction in named:
            end(pickle.loads(transaction))
        self._published.advance(batch_id)
        for name, _ in named:
            self._notes.remove(name)

    def recovered(self) -> None:
        self._recovering = False
        for _, _, name, transaction in self._notes.left():
            self._function.recover_and_abort(transaction)
            self._notes.remove(name)


def _dumped(transaction: Any) -> bytes:
    try:
        return pickle.dumps(transaction)
    except Exception as error:
        raise SerializationError(
            "a transaction must be picklable: another process commits it",
            where="TwoPhaseCommitSinkFunction.begin_transaction()",
            got=f"{type(transaction).__name__}, {type(error).__name__}: {error}",
            todo="return the name of a transaction rather than a connection; for databases, "
            "XaTransaction",
        ) from None
