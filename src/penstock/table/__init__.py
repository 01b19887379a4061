"""Tables and SQL: PyFlink's `pyflink.table`."""

from penstock.common.types import Row, RowKind
from penstock.core.functions.data_view import DataView, ListView, MapView
from penstock.core.functions.user_defined import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
)
from penstock.table.changelog_mode import ChangelogMode
from penstock.table.environment_settings import EnvironmentSettings
from penstock.table.explain_detail import ExplainDetail
from penstock.table.expression import Expression
from penstock.table.grouped_table import (
    AggregatedTable,
    FlatAggregateTable,
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    WindowGroupedTable,
)
from penstock.table.module import Module, ModuleEntry
from penstock.table.result_kind import ResultKind
from penstock.table.schema import Schema
from penstock.table.sql_dialect import SqlDialect
from penstock.table.statement_set import StatementSet
from penstock.table.stream_table_environment import StreamTableEnvironment
from penstock.table.table import Table
from penstock.table.table_config import TableConfig
from penstock.table.table_descriptor import FormatDescriptor, TableDescriptor
from penstock.table.table_environment import TableEnvironment
from penstock.table.table_pipeline import TablePipeline
from penstock.table.table_result import CloseableIterator, TableResult
from penstock.table.table_schema import TableSchema
from penstock.table.types import DataTypes, UserDefinedType

__all__ = [
    "AggregateFunction",
    "AggregatedTable",
    "AsyncScalarFunction",
    "ChangelogMode",
    "CloseableIterator",
    "DataTypes",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FlatAggregateTable",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ListView",
    "MapView",
    "Module",
    "ModuleEntry",
    "OverWindowedTable",
    "ResultKind",
    "Row",
    "RowKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "UserDefinedType",
    "WindowGroupedTable",
]
