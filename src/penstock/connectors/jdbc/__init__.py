"""Relational databases: MySQL and MariaDB, PostgreSQL, SQLite."""

from penstock.connectors.jdbc.formats import (
    JdbcGenericParameterValuesProvider,
    JdbcInputFormat,
    JdbcNumericBetweenParametersProvider,
    JdbcOutputFormat,
    JdbcParameterValuesProvider,
)
from penstock.connectors.jdbc.options import JdbcConnectionOptions, JdbcExecutionOptions
from penstock.connectors.jdbc.sink import JdbcSink
from penstock.connectors.jdbc.source import JdbcSource, JdbcSourceBuilder
from penstock.connectors.jdbc.xa import XaTransaction

__all__ = [
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcGenericParameterValuesProvider",
    "JdbcInputFormat",
    "JdbcNumericBetweenParametersProvider",
    "JdbcOutputFormat",
    "JdbcParameterValuesProvider",
    "JdbcSink",
    "JdbcSource",
    "JdbcSourceBuilder",
    "XaTransaction",
]
