"""Cassandra under PyFlink's module path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.common.time import Duration
from penstock.connectors.cassandra import (
    CassandraFailureHandler,
    CassandraRowSink,
    CassandraSettings,
    ClusterBuilder,
    ConsistencyLevel,
)
from penstock.datastream.data_stream_sink import DataStreamSink
from penstock.datastream.stream import DataStream
from penstock.errors import ConfigurationError

__all__ = [
    "CassandraCommitter",
    "CassandraFailureHandler",
    "CassandraSink",
    "ClusterBuilder",
    "ConsistencyLevel",
    "MapperOptions",
]


class MapperOptions:
    """How statements are made and sent.

    Only the consistency level has a meaning for a statement that the program gives; the others are
    taken for PyFlink's sake.
    """

    def __init__(self) -> None:
        self.level: ConsistencyLevel | None = None

    @staticmethod
    def simple_mapper_options() -> MapperOptions:
        """Return options of which none is set."""
        return MapperOptions()

    def ttl(self, ttl: int) -> MapperOptions:
        """Accept a time to live: write `USING TTL` into the statement."""
        return self

    def timestamp(self, timestamp: int) -> MapperOptions:
        """Accept a timestamp: write `USING TIMESTAMP` into the statement."""
        return self

    def consistency_level(self, cl: ConsistencyLevel) -> MapperOptions:
        """Set how many replicas have to confirm a statement."""
        self.level = cl
        return self

    def tracing(self, enabled: bool) -> MapperOptions:
        """Accept a setting without effect."""
        return self

    def save_null_fields(self, enabled: bool) -> MapperOptions:
        """Accept a setting: see `enable_ignore_null_fields`."""
        return self

    def if_not_exists(self, enabled: bool) -> MapperOptions:
        """Accept a setting: write `IF NOT EXISTS` into the statement."""
        return self


class CassandraCommitter:
    """What remembers the checkpoints that have been written: here the job's own folder does."""

    @staticmethod
    def default_checkpoint_committer(
        builder: ClusterBuilder, key_space: str | None = None
    ) -> CassandraCommitter:
        """Return a committer."""
        return CassandraCommitter()


class CassandraSink:
    """A stream's end in Cassandra. Use `CassandraSink.add_sink(stream)`. Needs extra `cassandra`.

    >>> CassandraSink.add_sink(counts).set_query(
    ...     "INSERT INTO shop.counts (word, count) VALUES (?, ?)"
    ... ).set_host("localhost").build()  # doctest: +SKIP
    """

    def __init__(self, sink: DataStreamSink) -> None:
        self._sink = sink

    def name(self, name: str) -> CassandraSink:
        """Set the operator's name."""
        self._sink.name(name)
        return self

    def uid(self, uid: str) -> CassandraSink:
        """Set the operator's id, by which its state is found again."""
        self._sink.uid(uid)
        return self

    def set_uid_hash(self, uid_hash: str) -> CassandraSink:
        """Set the hash of the operator's id."""
        self._sink.set_uid_hash(uid_hash)
        return self

    def set_parallelism(self, parallelism: int) -> CassandraSink:
        """Set in how many subtasks records become statements."""
        self._sink.set_parallelism(parallelism)
        return self

    def disable_chaining(self) -> CassandraSink:
        """Keep the operator out of the chain in front of it."""
        self._sink.disable_chaining()
        return self

    def slot_sharing_group(self, slot_sharing_group: str) -> CassandraSink:
        """Set the operator's slot sharing group."""
        self._sink.slot_sharing_group(slot_sharing_group)
        return self

    @staticmethod
    def add_sink(input: DataStream) -> CassandraSink.CassandraSinkBuilder:
        """Return a builder of a sink for a stream of tuples, rows or single values."""
        return CassandraSink.CassandraSinkBuilder(input)

    class CassandraSinkBuilder:
        """Build a `CassandraSink`."""

        def __init__(self, stream: DataStream) -> None:
            self._stream = stream
            self._settings = CassandraSettings("", ClusterBuilder())

        def set_query(self, query: str) -> CassandraSink.CassandraSinkBuilder:
            """Set the statement, with a `?` for each field of a record."""
            return self._set(query=query)

        def set_default_key_space(self, key_space: str) -> CassandraSink.CassandraSinkBuilder:
            """Set the key space of tables that the statement names without one."""
            return self._set(key_space=key_space)

        def set_host(self, host: str, port: int = 9042) -> CassandraSink.CassandraSinkBuilder:
            """Set a node of the cluster."""
            return self._set(cluster=ClusterBuilder(host, port))

        def set_cluster_builder(
            self, builder: ClusterBuilder
        ) -> CassandraSink.CassandraSinkBuilder:
            """Set how to connect, with an account for instance."""
            return self._set(cluster=builder)

        def enable_write_ahead_log(
            self, committer: CassandraCommitter | None = None
        ) -> CassandraSink.CassandraSinkBuilder:
            """Accept a setting: records always wait until their batch is durable."""
            return self

        def set_mapper_options(self, options: MapperOptions) -> CassandraSink.CassandraSinkBuilder:
            """Set the consistency level."""
            return self._set(consistency=options.level)

        def set_failure_handler(
            self, failure_handler: CassandraFailureHandler
        ) -> CassandraSink.CassandraSinkBuilder:
            """Set who decides about statements that the cluster refuses."""
            return self._set(failure_handler=failure_handler)

        def set_max_concurrent_requests(
            self, max_concurrent_requests: int, duration: Duration | None = None
        ) -> CassandraSink.CassandraSinkBuilder:
            """Set how many statements are sent at the same time. Default: 100."""
            if max_concurrent_requests < 1:
                raise ConfigurationError(
                    "at least one statement must be under way",
                    where="set_max_concurrent_requests()",
                    got=str(max_concurrent_requests),
                )
            return self._set(concurrent=max_concurrent_requests)

        def enable_ignore_null_fields(self) -> CassandraSink.CassandraSinkBuilder:
            """Leave a column as it is where a field is None, instead of emptying it."""
            return self._set(ignore_null_fields=True)

        def build(self) -> CassandraSink:
            """Add the sink to the stream and return it.

            :raises ConfigurationError: if the statement is missing.
            """
            if not self._settings.query:
                raise ConfigurationError(
                    "the statement is missing",
                    where="CassandraSink.add_sink()",
                    todo="call set_query()",
                )
            return CassandraSink(self._stream.sink_to(CassandraRowSink(self._settings)))

        def _set(self, **changes: Any) -> CassandraSink.CassandraSinkBuilder:
            self._settings = replace(self._settings, **changes)
            return self
