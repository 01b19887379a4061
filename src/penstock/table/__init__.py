"""Tables and SQL: PyFlink's `pyflink.table`."""

from penstock.table.changelog_mode import ChangelogMode
from penstock.table.environment_settings import EnvironmentSettings
from penstock.table.explain_detail import ExplainDetail
from penstock.table.result_kind import ResultKind
from penstock.table.schema import Schema
from penstock.table.sql_dialect import SqlDialect
from penstock.table.statement_set import StatementSet
from penstock.table.stream_table_environment import StreamTableEnvironment
from penstock.table.table import Table
from penstock.table.table_config import TableConfig
from penstock.table.table_descriptor import FormatDescriptor, TableDescriptor
from penstock.table.table_environment import TableEnvironment
from penstock.table.table_result import CloseableIterator, TableResult

__all__ = [
    "ChangelogMode",
    "CloseableIterator",
    "EnvironmentSettings",
    "ExplainDetail",
    "FormatDescriptor",
    "ResultKind",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableResult",
]
