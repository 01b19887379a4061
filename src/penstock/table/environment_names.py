"""Names in a table environment: views, tables, functions, databases, catalogs, modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from penstock.errors import CatalogError, ValidationError
from penstock.graph.relational.functions import catalog
from penstock.table.catalog import Catalog
from penstock.table.catalog_manager import CatalogManager, Database, InMemoryCatalog, View
from penstock.table.catalog_objects import CatalogDescriptor
from penstock.table.module import CORE, Module, ModuleEntry
from penstock.table.names import hint, parts_of
from penstock.table.sql import statements as st
from penstock.table.user_functions import as_user_function, imported, no_java

if TYPE_CHECKING:
    from penstock.table.table import Table
    from penstock.table.table_descriptor import TableDescriptor
    from penstock.table.table_environment import TableEnvironment


class EnvironmentNames:
    """Base of table environments: everything that has a name."""

    def __init__(self, catalogs: CatalogManager) -> None:
        self._catalogs = catalogs
        self._unnamed = 0

    # ---- tables and views ----------------------------------------------------------------------

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any
    ) -> None:
        """Register a table under a name, for as long as this environment lives."""
        node = table_or_data_stream._node
        self._catalogs.create(parts_of(view_path), View(node), temporary=True)

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool = False) -> bool:
        """Register a table as a view of a catalog; tell whether it is new."""
        return self._catalogs.create(
            parts_of(view_path), View(table._node), temporary=False, if_not_exists=ignore_if_exists
        )

    def register_table(self, name: str, table: Table) -> None:
        """Register a table under a name: the classic name of `create_temporary_view`."""
        self.create_temporary_view(name, table)

    def create_temporary_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool | None = None
    ) -> None:
        """Register the table that a descriptor describes, for as long as this environment lives."""
        table = descriptor.table(self, path)
        self._catalogs.create(
            parts_of(path), table, temporary=True, if_not_exists=bool(ignoreIfExists)
        )

    def create_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool | None = None
    ) -> bool:
        """Register the table that a descriptor describes in a catalog; tell whether it is new."""
        table = descriptor.table(self, path)
        return self._catalogs.create(
            parts_of(path), table, temporary=False, if_not_exists=bool(ignoreIfExists)
        )

    def drop_temporary_view(self, view_path: str) -> bool:
        """Remove a temporary view; tell whether there was one."""
        return self._catalogs.drop(parts_of(view_path), temporary=True, if_exists=True)

    def drop_temporary_table(self, table_path: str) -> bool:
        """Remove a temporary table; tell whether there was one."""
        return self._catalogs.drop(parts_of(table_path), temporary=True, if_exists=True)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Remove a table of a catalog; tell whether there was one."""
        return self._catalogs.drop(
            parts_of(table_path), temporary=False, if_exists=ignore_if_not_exists
        )

    def drop_view(self, view_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Remove a view of a catalog; tell whether there was one."""
        return self._catalogs.drop(
            parts_of(view_path), temporary=False, if_exists=ignore_if_not_exists
        )

    def list_tables(self) -> list[str]:
        """Return the names of all tables and views, sorted."""
        return self._catalogs.table_names()

    def list_views(self) -> list[str]:
        """Return the names of all views, sorted."""
        names = self._catalogs.table_names()
        return [name for name in names if isinstance(self._catalogs.find((name,)), View)]

    def list_temporary_tables(self) -> list[str]:
        """Return the names of temporary tables and views, sorted."""
        return sorted(path[2] for path in self._catalogs.temporary_tables)

    def list_temporary_views(self) -> list[str]:
        """Return the names of temporary views, sorted."""
        found = self._catalogs.temporary_tables.items()
        return sorted(path[2] for path, entry in found if isinstance(entry, View))

    def _register_unnamed(self, table: Table) -> str:
        self._unnamed += 1
        name = f"UnnamedTable${self._unnamed}"
        self._catalogs.create((name,), View(table._node), temporary=True)
        return f"`{name}`"

    # ---- catalogs and databases ----------------------------------------------------------------

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """Create the catalog that a descriptor describes; its `type` is `generic_in_memory`."""
        comment = catalog_descriptor.get_comment()
        self._create_catalog(catalog_name, catalog_descriptor.options(), comment)

    def _create_catalog(self, name: str, options: dict[str, str], comment: str | None) -> None:
        kind = options.get("type", "generic_in_memory")
        if kind != "generic_in_memory":
            raise CatalogError(
                f"there is no catalog of type {kind!r}", todo="use 'type' = 'generic_in_memory'"
            )
        if name in self._catalogs.catalogs:
            raise CatalogError(f"there is a catalog {name!r} already")
        first = options.get("default-database", "default")
        made = InMemoryCatalog({first: Database()}, first, comment, dict(options))
        self._catalogs.catalogs[name] = made

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Add a catalog of another environment, or under another name."""
        if catalog_name in self._catalogs.catalogs:
            raise CatalogError(f"there is a catalog {catalog_name!r} already")
        self._catalogs.catalogs[catalog_name] = catalog._stored

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """Return a catalog, None if there is none of that name."""
        found = self._catalogs.catalogs.get(catalog_name)
        return None if found is None else Catalog(found, cast("TableEnvironment", self))

    def use_catalog(self, catalog_name: str) -> None:
        """Make a catalog the current one."""
        self._catalogs.use_catalog(catalog_name)

    def use_database(self, database_name: str) -> None:
        """Make a database the current one."""
        self._catalogs.use_database((database_name,))

    def get_current_catalog(self) -> str:
        """Return the name of the current catalog."""
        return self._catalogs.current_catalog

    def get_current_database(self) -> str:
        """Return the name of the current database."""
        return self._catalogs.current_database

    def list_catalogs(self) -> list[str]:
        """Return the names of all catalogs, sorted."""
        return sorted(self._catalogs.catalogs)

    def list_databases(self) -> list[str]:
        """Return the names of the databases of the current catalog, sorted."""
        return sorted(self._catalogs.catalog(self._catalogs.current_catalog).databases)

    # ---- modules -------------------------------------------------------------------------------

    def load_module(self, module_name: str, module: Module | None = None) -> None:
        """Add a module, whose functions are then found by name, behind those in use."""
        self._catalogs.modules.load(module_name, module)

    def unload_module(self, module_name: str) -> None:
        """Forget a module."""
        self._catalogs.modules.unload(module_name)

    def use_modules(self, *module_names: str) -> None:
        """Set the modules in use, in order; the others stay loaded."""
        self._catalogs.modules.use(module_names)

    def list_modules(self) -> list[str]:
        """Return the modules in use, in order."""
        return self._catalogs.modules.used()

    def list_full_modules(self) -> list[ModuleEntry]:
        """Return all modules, and whether each is in use."""
        return self._catalogs.modules.entries()

    # ---- functions -----------------------------------------------------------------------------

    def create_temporary_function(self, path: str, function: Any) -> None:
        """Register a function of the user under a name."""
        where = self._catalogs.qualify(parts_of(path))
        key = (where[0], where[1], where[2].lower())
        self._catalogs.temporary_functions[key] = as_user_function(function, path)

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """Register a function of the user under a name that every database knows."""
        self._catalogs.system_functions[name.lower()] = as_user_function(function, name)

    def register_function(self, name: str, function: Any) -> None:
        """Register a function: the classic name of `create_temporary_system_function`."""
        self.create_temporary_system_function(name, function)

    def drop_temporary_function(self, path: str) -> bool:
        """Remove a temporary function; tell whether there was one."""
        where = self._catalogs.qualify(parts_of(path))
        key = (where[0], where[1], where[2].lower())
        return self._catalogs.temporary_functions.pop(key, None) is not None

    def drop_temporary_system_function(self, name: str) -> bool:
        """Remove a system function; tell whether there was one."""
        return self._catalogs.system_functions.pop(name.lower(), None) is not None

    def drop_function(self, path: str) -> bool:
        """Remove a function of a catalog; tell whether there was one."""
        where = self._catalogs.qualify(parts_of(path))
        functions = self._catalogs.database(where[0], where[1]).functions
        return functions.pop(where[2].lower(), None) is not None

    def list_user_defined_functions(self) -> list[str]:
        """Return the names of the user's functions, sorted."""
        catalogs = self._catalogs
        names = {path[2] for path in catalogs.temporary_functions} | set(catalogs.system_functions)
        database = catalogs.database(catalogs.current_catalog, catalogs.current_database)
        return sorted(names | set(database.functions))

    def list_functions(self) -> list[str]:
        """Return the names of all functions, sorted."""
        names = {*self._catalogs.modules.functions(), *self.list_user_defined_functions()}
        if CORE in self.list_modules():
            names |= {name.lower() for name in (*catalog.SCALARS, *catalog.AGGREGATES)}
        return sorted(names)

    def _create_function(self, statement: st.CreateFunction) -> None:
        if statement.language != "PYTHON":
            raise ValidationError(
                f"functions in {statement.language} cannot be called: there is no JVM",
                got=statement.identifier,
                todo="write it in Python: CREATE FUNCTION f AS 'module.name' LANGUAGE PYTHON",
            )
        function = imported(statement.identifier)
        path = ".".join(statement.name)
        if statement.if_not_exists and self._catalogs.find_function(path) is not None:
            return
        if statement.system:
            self.create_temporary_system_function(path, function)
        elif statement.temporary:
            self.create_temporary_function(path, function)
        else:
            where = self._catalogs.qualify(statement.name)
            functions = self._catalogs.database(where[0], where[1]).functions
            functions[where[2].lower()] = as_user_function(function, path)

    def _drop_function(self, name: tuple[str, ...], if_exists: bool) -> None:
        path = ".".join(name)
        found = (
            self.drop_temporary_function(path)
            or self.drop_temporary_system_function(path)
            or self.drop_function(path)
        )
        if not found and not if_exists:
            known = self.list_user_defined_functions()
            raise CatalogError(f"there is no function {path!r}", todo=hint(path, known))

    # ---- of PyFlink, without a meaning here ----------------------------------------------------

    def create_java_temporary_function(self, path: str, function_class_name: str) -> None:
        """Refuse a function of the JVM."""
        raise no_java(function_class_name)

    def create_java_temporary_system_function(self, name: str, function_class_name: str) -> None:
        """Refuse a function of the JVM."""
        raise no_java(function_class_name)

    def create_java_function(
        self, path: str, function_class_name: str, ignore_if_exists: bool | None = None
    ) -> None:
        """Refuse a function of the JVM."""
        raise no_java(function_class_name)
