"""Cassandra: a sink that executes a statement for each record."""

from penstock.connectors.cassandra.cluster import (
    CassandraFailureHandler,
    ClusterBuilder,
    ConsistencyLevel,
)
from penstock.connectors.cassandra.sink import CassandraRowSink, CassandraSettings

__all__ = [
    "CassandraFailureHandler",
    "CassandraRowSink",
    "CassandraSettings",
    "ClusterBuilder",
    "ConsistencyLevel",
]
