"""Elasticsearch 7 and OpenSearch under PyFlink's module path."""

from penstock.connectors.elasticsearch import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    ElasticsearchSink,
    ElasticsearchSinkFunction,
    FlushBackoffType,
    HttpHost,
    IndexRequest,
    RequestIndexer,
    Requests,
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
