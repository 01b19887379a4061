"""The environment of tables: where they come from, and where statements run."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from penstock.common import Configuration, Row
from penstock.connectors.collection import CollectionSource
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import ValidationError
from penstock.execution.data_frames import find_data_frames
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import Node, Scan, project
from penstock.graph.specs import SourceSpec
from penstock.graph.transformations import OperatorTransformation
from penstock.table.arrow_types import logical_type
from penstock.table.bridge import RecordsToRows, StreamTable
from penstock.table.catalog_manager import CatalogManager, View
from penstock.table.element_check import check_rows
from penstock.table.environment_names import EnvironmentNames
from penstock.table.environment_settings import EnvironmentSettings
from penstock.table.explain import explain
from penstock.table.explain_detail import ExplainDetail
from penstock.table.names import hint, parts_of
from penstock.table.planning import Planner
from penstock.table.sql import statements as st
from penstock.table.sql.from_binder import BindContext
from penstock.table.sql.parser import parse_statement
from penstock.table.sql.query_binder import bind_query
from penstock.table.sql.underline import showing_places
from penstock.table.statement_runner import bound_insert, run_statement
from penstock.table.statement_set import StatementSet
from penstock.table.table import Table, final_rows
from penstock.table.table_config import TableConfig
from penstock.table.table_descriptor import TableDescriptor
from penstock.table.table_result import TableResult
from penstock.table.type_conversion import of_rows

_numbers = itertools.count(1)


class TableEnvironment(EnvironmentNames):
    """Create tables, run SQL.

    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    >>> t_env.execute_sql("CREATE VIEW v AS SELECT 1 AS one").get_result_kind().name
    'SUCCESS'
    >>> t_env.list_views()
    ['v']
    """

    def __init__(self, env: StreamExecutionEnvironment, settings: EnvironmentSettings) -> None:
        self._env = env
        self._settings = settings
        self._config = TableConfig(Configuration())
        self._config.add_configuration(settings.get_configuration())
        catalogs = CatalogManager(
            settings.get_built_in_catalog_name(), settings.get_built_in_database_name()
        )
        super().__init__(catalogs)
        self._planner = Planner(env, self._config, batch=not settings.is_streaming_mode())

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """Return an environment."""
        settings = environment_settings
        if isinstance(settings, Configuration):
            settings = EnvironmentSettings.new_instance().with_configuration(settings).build()
        env = StreamExecutionEnvironment.get_execution_environment(settings.get_configuration())
        return TableEnvironment(env, settings)

    def get_config(self) -> TableConfig:
        """Return the settings."""
        return self._config

    # ---- tables --------------------------------------------------------------------------------

    def from_elements(
        self, elements: Iterable[Any], schema: Any = None, verify_schema: bool = True
    ) -> Table:
        """Return a table of rows of the program.

        :param schema: names of the columns, a row type, or None: names `_1`, `_2` ...
        :param verify_schema: whether values are checked; they are converted in any case.
        """
        rows = [_as_record(element) for element in elements]
        row_type = self._row_type(rows, schema)
        if verify_schema:
            check_rows(rows, row_type)
        source = OperatorTransformation(
            "Collection Source", SourceSpec(CollectionSource(rows)), [], 1
        )
        source.force_non_parallel()
        name = f"Unregistered_Collection_{next(_numbers)}"
        origins: tuple[Any, ...] = tuple(range(len(row_type.fields)))
        if rows and isinstance(rows[0], dict):
            origins = tuple(row_type.names())
        table = StreamTable(name, source, RecordsToRows(row_type, origins))
        return Table(Scan(row_type, table), self)

    def _row_type(self, rows: list[Any], schema: Any) -> t.RowType:
        if isinstance(schema, t.RowType):
            return t.RowType(schema.fields, is_nullable=False)
        if isinstance(schema, t.LogicalType):
            return t.RowType.of(("f0", schema), is_nullable=False)
        inferred = of_rows(rows)
        if inferred is None:
            raise ValidationError(
                "the type of a table without rows is not known",
                todo="pass a schema: DataTypes.ROW([DataTypes.FIELD(...), ...])",
            )
        names = list(schema) if schema else inferred.names()
        names += [f"_{i + 1}" for i in range(len(names), len(inferred.fields))]
        return t.RowType.of(*zip(names, inferred.children(), strict=False), is_nullable=False)

    def from_pandas(self, pdf: Any, schema: Any = None, splits_num: int = 1) -> Table:
        """Return the rows of a pandas DataFrame as a table.

        :param schema: names of the columns, their types, or a row type; the frame's own names if
            left out.
        :param splits_num: accepted; the rows stay in the user's process and are read in order.
        """
        rows = [
            tuple(None if _is_missing(value) else _plain(value) for value in row)
            for row in pdf.itertuples(index=False, name=None)
        ]
        names = [str(column) for column in pdf.columns]
        if schema is None:
            schema = names
        elif not isinstance(schema, t.RowType) and all(
            isinstance(each, t.LogicalType) for each in schema
        ):
            schema = t.RowType.of(*zip(names, schema, strict=True), is_nullable=False)
        return self.from_elements(rows, schema)

    def from_data_frame(self, data_frame: Any) -> Table:
        """Return the rows of a DataFrame of Spark, batch or streaming, as a table.

        A TIMESTAMP column is TIMESTAMP_LTZ, the same moments whatever the session's zone.

        >>> t_env.from_data_frame(spark.read.parquet("orders"))  # doctest: +SKIP
        """
        aligned, schema = find_data_frames().aligned(data_frame, None)
        fields = tuple(t.RowField(f.name, logical_type(f.type, f.name)) for f in schema)
        row_type = t.RowType(fields, is_nullable=False)
        stream = self._env.from_data_frame(aligned)
        name = f"Unregistered_DataFrame_{next(_numbers)}"
        rows = RecordsToRows(row_type, tuple(range(len(fields))))
        return Table(Scan(row_type, StreamTable(name, stream._transformation, rows)), self)

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any
    ) -> None:
        """Register a table, or a DataFrame of Spark, for as long as this environment lives."""
        table = table_or_data_stream
        if not isinstance(table, Table):
            table = self.from_data_frame(table)
        super().create_temporary_view(view_path, table)

    def from_data_set(self, data_set: Any, schema: Any = None) -> Table:
        """Run a DataSet's program and return its records as a table.

        The records pass through the user's process.

        :param schema: names of the columns or a row type, as with `from_elements`.
        """
        return self.from_elements(data_set.collect(), schema)

    def to_data_set(self, table: Table, execution_environment: Any) -> Any:
        """Run a bounded query and return its final rows, as tuples, as a DataSet.

        :param execution_environment: of the DataSet API.
        """
        return execution_environment.from_collection(final_rows(table))

    def _spark_settings(self) -> dict[str, str]:
        return {**self._env._configuration.to_dict(), **self._config.to_map()}

    def add_python_file(self, file_path: str) -> None:
        """Ship a file, folder or zip file to the workers' path."""
        self._env.add_python_file(file_path)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Ship an archive that is unpacked in the workers' working directory."""
        self._env.add_python_archive(archive_path, target_dir)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Ship the packages of a requirements file to the workers."""
        self._env.set_python_requirements(requirements_file_path, requirements_cache_dir)

    def from_path(self, path: str) -> Table:
        """Return a registered table or view."""
        node = self._table_node(parts_of(path), {})
        if node is None:
            raise ValidationError(
                f"there is no table {path!r}",
                todo=hint(parts_of(path)[-1], self._catalogs.table_names()),
            )
        return Table(node, self, self._catalogs.find(parts_of(path)))

    scan = from_path

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """Return the table that a descriptor describes, without registering it."""
        table = descriptor.table(self, f"Unregistered_{next(_numbers)}")
        return Table(table.scan(self, {}), self)

    # ---- SQL -----------------------------------------------------------------------------------

    def sql_query(self, query: str) -> Table:
        """Return the table that a query describes.

        :raises SqlParseError: if it is no SQL.
        :raises ValidationError: if a name or a type is wrong.
        """
        statement = parse_statement(query)
        if not isinstance(statement, st.Query):
            raise ValidationError(
                "sql_query() takes a query", got=query, todo="run statements with execute_sql()"
            )
        with showing_places(query):
            return Table(self._bind(statement.tree), self)

    def execute_sql(self, stmt: str) -> TableResult:
        """Run one statement.

        A query starts a job whose rows the result collects; INSERT starts a job and returns at
        once.
        """
        statement = parse_statement(stmt)
        with showing_places(stmt):
            return run_statement(self, statement)

    def explain_sql(self, stmt: str, *extra_details: ExplainDetail) -> str:
        """Return the plans of a query or an INSERT."""
        statement = parse_statement(stmt)
        with showing_places(stmt):
            return self._explained(statement, [detail.name for detail in extra_details])

    def create_statement_set(self) -> StatementSet:
        """Return an empty set of inserts that run as one job."""
        return StatementSet(self)

    def _explained(self, statement: st.Statement, details: Iterable[str]) -> str:
        if isinstance(statement, st.Explain):
            return self._explained(statement.statement, [*details, *statement.details])
        if isinstance(statement, st.Insert):
            return explain(self, [bound_insert(self, statement)], list(details))
        if isinstance(statement, st.StatementSetStatement):
            inserts = [bound_insert(self, insert) for insert in statement.inserts]
            return explain(self, inserts, list(details))
        if isinstance(statement, st.Query):
            return explain(self, [self._bind(statement.tree)], list(details))
        raise ValidationError(
            "only queries and inserts have a plan", got=type(statement).__name__,
            todo="explain a SELECT or an INSERT",
        )  # fmt: skip

    # ---- for the modules of this package -------------------------------------------------------

    def _bind(self, tree: Any) -> Node:
        return bind_query(tree, self._context())

    def _set_batch_mode(self, batch: bool) -> None:
        """Run what comes next over all input at once, or as a stream."""
        builder = EnvironmentSettings.new_instance()
        builder.with_configuration(self._settings.get_configuration())
        self._settings = (builder.in_batch_mode() if batch else builder.in_streaming_mode()).build()
        self._planner.batch = batch

    def _context(self) -> BindContext:
        return BindContext(
            self._table_node, self._catalogs.find_function, self._catalogs.table_names
        )

    def _table_node(self, parts: tuple[str, ...], hints: dict[str, str]) -> Node | None:
        entry = self._catalogs.find(parts)
        if entry is None:
            return None
        if isinstance(entry, View):
            return entry.node
        node: Node = entry.scan(self, hints)
        return node

    def _renamed(self, node: Node, names: list[str]) -> Node:
        if len(names) != len(node.schema.fields):
            raise ValidationError(
                f"the query has {len(node.schema.fields)} columns",
                got=f"{len(names)} names: {', '.join(names)}",
                todo="give every column a name",
            )
        return project(node, node.refs(), names)


def _is_missing(value: Any) -> bool:
    """Tell None, NaN and NaT, which differ from themselves, and NA, of which nobody knows."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _plain(value: Any) -> Any:
    """Return numpy's numbers and pandas' times as Python's own."""
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime()
    return value.item() if hasattr(value, "item") else value


def _as_record(element: Any) -> Any:
    if isinstance(element, list):
        return tuple(element)
    return element if isinstance(element, tuple | Row | dict) else (element,)
