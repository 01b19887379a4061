"""Cassandra as a sink: a batch's statements when the batch is durable."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from penstock.common.types import Row
from penstock.connectors.cassandra.cluster import (
    CassandraFailureHandler,
    ClusterBuilder,
    ConsistencyLevel,
    library,
)
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
from penstock.errors import SerializationError, SinkError, show_value

_logger = logging.getLogger("penstock.cassandra")

_CHUNK = 5000


@dataclass(frozen=True)
class CassandraSettings:
    """What is done with each record, and where."""

    query: str
    cluster: ClusterBuilder
    key_space: str | None = None
    consistency: ConsistencyLevel | None = None
    concurrent: int = 100
    ignore_null_fields: bool = False
    failure_handler: CassandraFailureHandler = field(default_factory=CassandraFailureHandler)


class CassandraRowSink(Sink):
    """Execute a statement for each record. Use `CassandraSink.add_sink(stream)`.

    Statements are sent when their batch is durable; those of a batch that was interrupted are sent
    again. An INSERT, an UPDATE that sets and a DELETE come to the same then: exactly once. One that
    counts does not.
    """

    def __init__(self, settings: CassandraSettings) -> None:
        library()
        self._settings = settings

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _RowWriter(self._settings.query)

    def create_committer(self, context: CommitterContext) -> Committer:
        return CassandraCommitterOfRows(context, self._settings)


class _RowWriter(SinkWriter):
    """Turn records into the values of the statement."""

    def __init__(self, query: str) -> None:
        self._query = query
        self._count = query.count("?")
        self._rows: list[tuple[Any, ...]] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        row = tuple(value) if isinstance(value, (tuple, list, Row)) else (value,)
        if len(row) != self._count:
            raise SerializationError(
                "the record has another number of fields than the statement takes",
                where=f"CassandraSink, {self._query!r}",
                got=show_value(value),
                todo=f"send tuples or rows with {self._count} fields to the sink",
            )
        self._rows.append(row)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        rows, self._rows = self._rows, []
        return [
            pickle.dumps(rows[i : i + _CHUNK], pickle.HIGHEST_PROTOCOL)
            for i in range(0, len(rows), _CHUNK)
        ]


class CassandraCommitterOfRows(Committer):
    """Send a batch's statements, some at a time."""

    def __init__(self, context: CommitterContext, settings: CassandraSettings) -> None:
        self._settings = settings
        self._published = LastBatch(context.directory, fresh=not context.restored)
        self._retries = Retries(_logger, settings.cluster, context.stopping)
        self._cluster: Any = None
        self._session: Any = None
        self._statement: Any = None
        self._retries.run(partial(self._attempt, []))

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if self._published.includes(batch_id):
            return
        for piece in committables:
            self._retries.run(partial(self._attempt, pickle.loads(piece.payload)))
        self._published.advance(batch_id)

    def close(self) -> None:
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.shutdown()

    def _attempt(self, rows: list[tuple[Any, ...]]) -> None:
        try:
            self._connect()
            self._send(rows)
        except Exception as error:
            if isinstance(error, SinkError):
                raise
            self.close()
            if _is_passing(error):
                raise Again(error, self._failed(error)) from None
            raise self._failed(error) from None

    def _send(self, rows: list[tuple[Any, ...]]) -> None:
        if self._settings.ignore_null_fields:
            unset = library("cassandra.query").UNSET_VALUE
            rows = [tuple(unset if value is None else value for value in row) for row in rows]
        for wave in _waves(rows, self._settings.concurrent):
            sent = [(row, self._session.execute_async(self._statement, row)) for row in wave]
            for row, answer in sent:
                try:
                    answer.result()
                except library().InvalidRequest as error:
                    self._settings.failure_handler.on_failure(self._refused(row, error))

    def _connect(self) -> None:
        if self._cluster is not None:
            return
        settings = self._settings
        cluster = settings.cluster.build_cluster()
        try:
            self._session = cluster.connect(settings.key_space)
            self._statement = self._session.prepare(settings.query)
            if settings.consistency is not None:
                level = getattr(library().ConsistencyLevel, settings.consistency.name)
                self._statement.consistency_level = level
        except BaseException:
            cluster.shutdown()
            raise
        self._cluster = cluster

    def _refused(self, row: tuple[Any, ...], error: Exception) -> SinkError:
        return SinkError(
            "Cassandra refuses a statement",
            where=f"CassandraSink, {self._settings.query!r}",
            got=f"{show_value(row, 200)}: {error}",
            todo="correct the records or the table; "
            "what is recorded is written when the job is started again",
        )

    def _failed(self, error: Exception) -> SinkError:
        cluster = self._settings.cluster
        return SinkError(
            f"the cluster at {cluster.host}:{cluster.port} does not take statements",
            got=f"{type(error).__name__}: {error}",
            todo="correct the statement, the table or the account, or check the nodes; "
            "what is recorded is written when the job is started again",
        )


def _waves(rows: list[tuple[Any, ...]], most: int) -> Iterable[list[tuple[Any, ...]]]:
    """Cut rows into pieces that are sent at the same time.

    They may arrive in any order. The driver stamps each with a time that rises, by which the
    cluster knows the latest one of a key.

    >>> list(_waves([(1,), (2,), (3,)], 2))
    [[(1,), (2,)], [(3,)]]
    """
    for i in range(0, len(rows), most):
        yield rows[i : i + most]


def _is_passing(error: Exception) -> bool:
    """Tell whether another attempt may succeed."""
    driver, cluster = library(), library("cassandra.cluster")
    if isinstance(error, cluster.NoHostAvailable):
        reasons = error.errors.values() if isinstance(error.errors, dict) else error.errors
        return not any(isinstance(each, driver.AuthenticationFailed) for each in reasons)
    return isinstance(
        error, (driver.Unavailable, driver.Timeout, driver.OperationTimedOut, OSError)
    )
