"""Catalogs as users see them: PyFlink's `pyflink.table.catalog`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from penstock.errors import CatalogError
from penstock.table.catalog_manager import Database, InMemoryCatalog, View
from penstock.table.catalog_objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogDescriptor,
    CatalogFunction,
    CatalogPartitionSpec,
    ObjectIdentifier,
    ObjectPath,
)
from penstock.table.catalog_table import CatalogTable
from penstock.table.catalog_table import Column as DeclaredColumn
from penstock.table.names import hint
from penstock.table.resolved_schema import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from penstock.table.schema import Schema
from penstock.table.user_functions import as_user_function, imported

if TYPE_CHECKING:
    from penstock.table.table_environment import TableEnvironment

__all__ = [
    "Catalog",
    "CatalogBaseTable",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogFunction",
    "CatalogPartitionSpec",
    "Column",
    "ComputedColumn",
    "MetadataColumn",
    "ObjectIdentifier",
    "ObjectPath",
    "PhysicalColumn",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]

_T = TypeVar("_T")


class Catalog:
    """A catalog of an environment: look at its databases, tables and functions, and change them.

    >>> from penstock.table import EnvironmentSettings, TableEnvironment
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> catalog = t_env.get_catalog("default_catalog")
    >>> catalog.create_database("shop", CatalogDatabase.create_instance({}), False)
    >>> catalog.list_databases()
    ['default_database', 'shop']
    """

    def __init__(self, stored: InMemoryCatalog, t_env: TableEnvironment) -> None:
        self._stored = stored
        self._t_env = t_env

    def get_default_database(self) -> str:
        """Return the database that is used when none is named."""
        return self._stored.default_database

    # ---- databases -----------------------------------------------------------------------------

    def list_databases(self) -> list[str]:
        """Return the names of the databases, sorted."""
        return sorted(self._stored.databases)

    def get_database(self, database_name: str) -> CatalogDatabase:
        """Return a database.

        :raises CatalogError: if there is none of that name.
        """
        found = self._database(database_name)
        return CatalogDatabase(dict(found.options), found.comment)

    def database_exists(self, database_name: str) -> bool:
        """Tell whether there is a database."""
        return database_name in self._stored.databases

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """Add a database."""
        _add(
            self._stored.databases, name,
            Database(comment=database.get_comment(), options=database.get_properties()),
            "database", ignore=ignore_if_exists,
        )  # fmt: skip

    def drop_database(self, name: str, ignore_if_exists: bool) -> None:
        """Remove a database, which must be empty.

        :param ignore_if_exists: whether it is no error if there is none.
        """
        database = self._stored.databases.get(name)
        if database is not None and database.tables:
            raise CatalogError(
                f"the database {name!r} is not empty",
                got=f"tables {', '.join(sorted(database.tables))}",
                todo="drop them first",
            )
        _remove(self._stored.databases, name, "database", ignore=ignore_if_exists)

    def alter_database(
        self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool
    ) -> None:
        """Replace options and comment of a database."""
        if ignore_if_not_exists and not self.database_exists(name):
            return
        database = self._database(name)
        database.options = new_database.get_properties()
        database.comment = new_database.get_comment()

    def _database(self, name: str) -> Database:
        return _found(self._stored.databases, name, "database")

    # ---- tables and views ----------------------------------------------------------------------

    def list_tables(self, database_name: str) -> list[str]:
        """Return the names of the tables and views, sorted."""
        return sorted(self._database(database_name).tables)

    def list_views(self, database_name: str) -> list[str]:
        """Return the names of the views, sorted."""
        tables = self._database(database_name).tables
        return sorted(name for name, entry in tables.items() if isinstance(entry, View))

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """Return a table or view.

        :raises CatalogError: if there is none.
        """
        tables = self._database(table_path.database_name).tables
        entry = _found(tables, table_path.object_name, "table")
        if isinstance(entry, View):
            columns = tuple(DeclaredColumn(f.name, f.type) for f in entry.node.schema.fields)
            return CatalogBaseTable(Schema(columns), (), {}, entry.comment, entry.text)
        schema = Schema(entry.columns, entry.watermark, entry.primary_key)
        return CatalogBaseTable(schema, entry.partition_keys, dict(entry.options), entry.comment)

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Tell whether there is a table or view."""
        database = self._stored.databases.get(table_path.database_name)
        return database is not None and table_path.object_name in database.tables

    def create_table(
        self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool
    ) -> None:
        """Add a table or view."""
        tables = self._database(table_path.database_name).tables
        if ignore_if_exists and table_path.object_name in tables:
            return
        entry = self._entry(table_path, table)
        _add(tables, table_path.object_name, entry, "table", ignore=False)

    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        """Replace a table or view."""
        if ignore_if_not_exists and not self.table_exists(table_path):
            return
        tables = self._database(table_path.database_name).tables
        _found(tables, table_path.object_name, "table")
        tables[table_path.object_name] = self._entry(table_path, new_table)

    def rename_table(
        self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool
    ) -> None:
        """Give a table or view another name."""
        if ignore_if_not_exists and not self.table_exists(table_path):
            return
        tables = self._database(table_path.database_name).tables
        entry = _found(tables, table_path.object_name, "table")
        if isinstance(entry, CatalogTable):
            entry = entry.named(f"{table_path.database_name}.{new_table_name}")
        _add(tables, new_table_name, entry, "table", ignore=False)
        del tables[table_path.object_name]

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Remove a table or view."""
        tables = self._database(table_path.database_name).tables
        _remove(tables, table_path.object_name, "table", ignore=ignore_if_not_exists)

    def _entry(self, path: ObjectPath, table: CatalogBaseTable) -> View | CatalogTable:
        if table.query is not None:
            node: Any = self._t_env.sql_query(table.query)._node
            return View(node, table.query, table.comment)
        schema = table.schema
        return CatalogTable(
            schema.columns, dict(table.options), schema.key, schema.watermark,
            table.partition_keys, table.comment, path.get_full_name(),
        )  # fmt: skip

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """Return the partitions that a table has.

        :param partition_spec: values that they have in common.
        """
        tables = self._database(table_path.database_name).tables
        entry = _found(tables, table_path.object_name, "table")
        if not isinstance(entry, CatalogTable) or not entry.partition_keys:
            raise CatalogError(f"the table {table_path} is not partitioned")
        wanted = {} if partition_spec is None else partition_spec.get_partition_spec()
        folders: list[str] = entry.partitions(self._t_env)
        specs = [dict(part.split("=", 1) for part in folder.split("/")) for folder in folders]
        return [CatalogPartitionSpec(s) for s in specs if wanted.items() <= s.items()]

    # ---- functions -----------------------------------------------------------------------------

    def list_functions(self, database_name: str) -> list[str]:
        """Return the names of the functions, sorted."""
        return sorted(self._database(database_name).functions)

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Tell whether there is a function."""
        database = self._stored.databases.get(function_path.database_name)
        return database is not None and function_path.object_name.lower() in database.functions

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        """Add a function, which is imported."""
        functions = self._database(function_path.database_name).functions
        made = as_user_function(imported(function.get_class_name()), function_path.object_name)
        key = function_path.object_name.lower()
        _add(functions, key, made, "function", ignore=ignore_if_exists)

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Remove a function."""
        functions = self._database(function_path.database_name).functions
        key = function_path.object_name.lower()
        _remove(functions, key, "function", ignore=ignore_if_not_exists)


def _found(entries: dict[str, _T], name: str, what: str) -> _T:
    if name not in entries:
        raise CatalogError(f"there is no {what} {name!r}", todo=hint(name, list(entries)))
    return entries[name]


def _add(entries: dict[str, Any], name: str, entry: Any, what: str, *, ignore: bool) -> None:
    if name not in entries:
        entries[name] = entry
    elif not ignore:
        raise CatalogError(f"there is a {what} {name!r} already")


def _remove(entries: dict[str, Any], name: str, what: str, *, ignore: bool) -> None:
    if name in entries or not ignore:
        _found(entries, name, what)
        del entries[name]
