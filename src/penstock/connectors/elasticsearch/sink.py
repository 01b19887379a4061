"""Elasticsearch and OpenSearch as sinks: names of PyFlink's connector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from penstock.connectors.base import DeliveryGuarantee
from penstock.connectors.elasticsearch.bulk import (
    BulkCommitter,
    BulkSettings,
    DocumentWriter,
    FlushBackoffType,
    library,
)
from penstock.connectors.elasticsearch.classic import (
    ElasticsearchSinkFunction,
    HttpHost,
    RequestIndexer,
)
from penstock.connectors.elasticsearch.emitter import Document, ElasticsearchEmitter
from penstock.core.io import Committer, CommitterContext, Sink, SinkWriter, WriterContext
from penstock.errors import ConfigurationError, show_value

#: What stands for "no bound" in PyFlink.
_NO_BOUND = -1


class ElasticsearchSink(Sink):
    """Write documents to an index. Use `Elasticsearch7SinkBuilder()`.

    Documents are sent once their batch is durable, and again if it is not known whether they have
    arrived. They have the same ids then: those of the key field, or ids that the sink gives them.
    So each record is one document, exactly once, whatever guarantee was asked for. Needs the extra
    `opensearch`.
    """

    #: The builder of Flink 1.x: `ElasticsearchSink.Builder(hosts, function)`.
    Builder: ClassVar[type[ClassicSinkBuilder]]

    def __init__(
        self, emitter: ElasticsearchEmitter | ElasticsearchSinkFunction, settings: BulkSettings
    ) -> None:
        self._emitter = emitter
        self._settings = settings

    def create_writer(self, context: WriterContext) -> SinkWriter:
        if isinstance(self._emitter, ElasticsearchEmitter):
            return DocumentWriter(self._emitter.documents)
        return DocumentWriter(partial(_requested, self._emitter, context))

    def create_committer(self, context: CommitterContext) -> Committer:
        return BulkCommitter(context, self._settings)


class Elasticsearch7SinkBuilder:
    """Build an `ElasticsearchSink`.

    >>> sink = (
    ...     Elasticsearch7SinkBuilder()
    ...     .set_hosts("localhost:9200")
    ...     .set_emitter(ElasticsearchEmitter.static_index("sensor", "id"))
    ...     .set_bulk_flush_max_actions(500)
    ...     .build()
    ... )
    """

    def __init__(self) -> None:
        self._emitter: ElasticsearchEmitter | ElasticsearchSinkFunction | None = None
        self._settings = BulkSettings()

    def set_emitter(self, emitter: ElasticsearchEmitter) -> Elasticsearch7SinkBuilder:
        """Set how records become documents."""
        self._emitter = emitter
        return self

    def set_hosts(self, hosts: str | Sequence[str]) -> Elasticsearch7SinkBuilder:
        """Set the servers: `host:port` or a URL, one or several."""
        return self._set(hosts=(hosts,) if isinstance(hosts, str) else tuple(hosts))

    def set_delivery_guarantee(
        self, delivery_guarantee: DeliveryGuarantee
    ) -> Elasticsearch7SinkBuilder:
        """Accept a guarantee: documents are written exactly once by their ids, whatever it is."""
        return self

    def set_bulk_flush_max_actions(self, num_max_actions: int) -> Elasticsearch7SinkBuilder:
        """Set how many documents go into one request; -1: no bound. Default: 1000."""
        return self._set(max_actions=_bound("set_bulk_flush_max_actions()", num_max_actions))

    def set_bulk_flush_max_size_mb(self, max_size_mb: int) -> Elasticsearch7SinkBuilder:
        """Set how many megabytes one request has at most; -1: no bound. Default: 5."""
        return self._set(max_bytes=_bound("set_bulk_flush_max_size_mb()", max_size_mb) << 20)

    def set_bulk_flush_interval(self, interval_millis: int) -> Elasticsearch7SinkBuilder:
        """Accept an interval; documents are sent with checkpoints."""
        return self

    def set_bulk_flush_backoff_strategy(
        self, flush_backoff_type: FlushBackoffType, max_retries: int, delay_millis: int
    ) -> Elasticsearch7SinkBuilder:
        """Set how often, and after which time, what a server could not take is sent again.

        Default: every half second, for two minutes. With `NONE` the job fails at once, and its
        restart strategy decides.
        """
        retries = 0 if flush_backoff_type is FlushBackoffType.NONE else max_retries
        return self._set(backoff=flush_backoff_type, max_retries=retries, delay_ms=delay_millis)

    def set_connection_username(self, username: str) -> Elasticsearch7SinkBuilder:
        """Set the user's name."""
        return self._set(username=username)

    def set_connection_password(self, password: str) -> Elasticsearch7SinkBuilder:
        """Set the password."""
        return self._set(password=password)

    def set_connection_path_prefix(self, prefix: str) -> Elasticsearch7SinkBuilder:
        """Set what stands in front of every path, as behind a proxy."""
        return self._set(path_prefix=prefix)

    def set_connection_request_timeout(self, timeout: int) -> Elasticsearch7SinkBuilder:
        """Set how long a request may take, in milliseconds. Default: 30000."""
        return self._set(timeout_ms=timeout)

    def set_connection_timeout(self, timeout: int) -> Elasticsearch7SinkBuilder:
        """Set how long a request may take, in milliseconds: connecting is a part of it."""
        return self._set(timeout_ms=timeout)

    def set_socket_timeout(self, timeout: int) -> Elasticsearch7SinkBuilder:
        """Set how long a request may take, in milliseconds."""
        return self._set(timeout_ms=timeout)

    def build(self) -> ElasticsearchSink:
        """Return the sink.

        :raises ConfigurationError: if hosts or emitter are missing.
        """
        library()
        if not self._settings.hosts:
            raise self._incomplete("set_hosts()")
        if self._emitter is None:
            raise self._incomplete("set_emitter()")
        return ElasticsearchSink(self._emitter, self._settings)

    def _incomplete(self, call: str) -> ConfigurationError:
        return ConfigurationError(
            "the sink needs servers and an emitter",
            where=f"{type(self).__name__}()",
            todo=f"call {call}",
        )

    def _set(self, **changes: Any) -> Elasticsearch7SinkBuilder:
        self._settings = replace(self._settings, **changes)
        return self


class Elasticsearch6SinkBuilder(Elasticsearch7SinkBuilder):
    """Build an `ElasticsearchSink`: the older name, for servers from version 7 on."""


class ClassicSinkBuilder(Elasticsearch7SinkBuilder):
    """Build an `ElasticsearchSink` of a function that adds requests, as Flink 1.x does.

    :param hosts: the servers: `HttpHost`s, or texts as `set_hosts()` takes them.
    """

    def __init__(
        self, hosts: Sequence[HttpHost | str], function: ElasticsearchSinkFunction
    ) -> None:
        super().__init__()
        self.set_hosts([str(host) for host in hosts])
        self._emitter = function


ElasticsearchSink.Builder = ClassicSinkBuilder


def _requested(
    function: ElasticsearchSinkFunction, context: WriterContext, record: Any
) -> list[Document]:
    indexer = RequestIndexer()
    function.process(record, context, indexer)
    return indexer.documents


def _bound(where: str, given: int) -> int:
    if given == _NO_BOUND:
        return 1 << 31
    if given < 1:
        raise ConfigurationError(
            "a request needs at least one document",
            where=where,
            got=show_value(given),
            todo="pass a number from 1 on, or -1 for no bound",
        )
    return given
