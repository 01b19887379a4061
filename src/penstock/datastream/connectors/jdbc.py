"""Relational databases under PyFlink's module path."""

from penstock.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
    JdbcSource,
    JdbcSourceBuilder,
    XaTransaction,
)

__all__ = [
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "JdbcSource",
    "JdbcSourceBuilder",
    "XaTransaction",
]
