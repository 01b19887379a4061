"""Elasticsearch from version 7 on and OpenSearch: a sink that writes documents in bulk."""

from penstock.connectors.elasticsearch.bulk import FlushBackoffType
from penstock.connectors.elasticsearch.classic import (
    ElasticsearchSinkFunction,
    HttpHost,
    IndexRequest,
    RequestIndexer,
    Requests,
)
from penstock.connectors.elasticsearch.emitter import ElasticsearchEmitter
from penstock.connectors.elasticsearch.sink import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchSink,
)

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchEmitter",
    "ElasticsearchSink",
    "ElasticsearchSinkFunction",
    "FlushBackoffType",
    "HttpHost",
    "IndexRequest",
    "RequestIndexer",
    "Requests",
]
