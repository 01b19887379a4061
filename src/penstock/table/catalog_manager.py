"""Names of tables, views and functions: catalogs, databases and what is temporary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.errors import CatalogError
from penstock.graph.relational.algebra import Node
from penstock.table.module import Modules
from penstock.table.names import hint

Path = tuple[str, str, str]


@dataclass
class Database:
    """Tables and functions of one database."""

    tables: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    comment: str | None = None
    options: dict[str, str] = field(default_factory=dict)


@dataclass
class InMemoryCatalog:
    """Databases by name, for as long as the program runs."""

    databases: dict[str, Database] = field(default_factory=dict)
    default_database: str = "default"
    comment: str | None = None
    options: dict[str, str] = field(default_factory=dict)


class CatalogManager:
    """Find and change catalog objects by their names."""

    def __init__(self, catalog: str, database: str) -> None:
        first = InMemoryCatalog({database: Database()}, database)
        self.catalogs: dict[str, InMemoryCatalog] = {catalog: first}
        self.current_catalog = catalog
        self.current_database = database
        self.temporary_tables: dict[Path, Any] = {}
        self.temporary_functions: dict[Path, Any] = {}
        self.system_functions: dict[str, Any] = {}
        self.modules = Modules()

    # ---- names ---------------------------------------------------------------------------------

    def qualify(self, parts: tuple[str, ...]) -> Path:
        """Return catalog, database and name."""
        if len(parts) == 1:
            return self.current_catalog, self.current_database, parts[0]
        if len(parts) == 2:
            return self.current_catalog, parts[0], parts[1]
        if len(parts) == 3:
            return parts[0], parts[1], parts[2]
        raise CatalogError(
            "a name has at most three parts", got=".".join(parts),
            todo="write catalog.database.name",
        )  # fmt: skip

    def catalog(self, name: str) -> InMemoryCatalog:
        """Return a catalog."""
        found = self.catalogs.get(name)
        if found is None:
            raise CatalogError(
                f"there is no catalog {name!r}", todo=hint(name, list(self.catalogs)),
            )  # fmt: skip
        return found

    def database(self, catalog: str, name: str) -> Database:
        """Return a database."""
        databases = self.catalog(catalog).databases
        if name not in databases:
            raise CatalogError(
                f"there is no database {name!r} in catalog {catalog!r}",
                todo=hint(name, list(databases)),
            )
        return databases[name]

    def use_catalog(self, name: str) -> None:
        """Make a catalog the current one, with its default database."""
        self.current_database = self.catalog(name).default_database
        self.current_catalog = name

    def use_database(self, parts: tuple[str, ...]) -> None:
        """Make a database the current one."""
        catalog = parts[0] if len(parts) == 2 else self.current_catalog
        self.database(catalog, parts[-1])
        self.current_catalog, self.current_database = catalog, parts[-1]

    # ---- tables --------------------------------------------------------------------------------

    def find(self, parts: tuple[str, ...]) -> Any:
        """Return a table or view, None if there is none; what is temporary comes first."""
        try:
            path = self.qualify(parts)
        except CatalogError:
            return None
        if path in self.temporary_tables:
            return self.temporary_tables[path]
        catalog = self.catalogs.get(path[0])
        database = None if catalog is None else catalog.databases.get(path[1])
        return None if database is None else database.tables.get(path[2])

    def create(
        self, parts: tuple[str, ...], entry: Any, *, temporary: bool, if_not_exists: bool = False,
        replace: bool = False,
    ) -> bool:  # fmt: skip
        """Add a table or view; return whether it is new.

        :raises CatalogError: if there is one of that name.
        """
        path = self.qualify(parts)
        tables: dict[Any, Any] = self.temporary_tables
        key: Any = path
        if not temporary:
            tables, key = self.database(path[0], path[1]).tables, path[2]
        if key in tables and not replace:
            if if_not_exists:
                return False
            raise CatalogError(
                f"there is a table or view {'.'.join(path)!r} already",
                todo="drop it first, choose another name, or use IF NOT EXISTS",
            )
        tables[key] = entry
        return True

    def drop(self, parts: tuple[str, ...], *, temporary: bool | None, if_exists: bool) -> bool:
        """Remove a table or view; return whether there was one."""
        path = self.qualify(parts)
        if temporary is not False and path in self.temporary_tables:
            del self.temporary_tables[path]
            return True
        if temporary is not True:
            catalog = self.catalogs.get(path[0])
            database = None if catalog is None else catalog.databases.get(path[1])
            if database is not None and path[2] in database.tables:
                del database.tables[path[2]]
                return True
        if if_exists:
            return False
        raise CatalogError(
            f"there is no table or view {'.'.join(path)!r}", todo=hint(path[2], self.table_names())
        )

    def table_names(self) -> list[str]:
        """Return the names of tables and views of the current database."""
        return self.names_in(self.current_catalog, self.current_database)

    def names_in(self, catalog: str, database: str) -> list[str]:
        """Return the names of tables and views of a database, sorted."""
        names = set(self.database(catalog, database).tables)
        names |= {path[2] for path in self.temporary_tables if path[:2] == (catalog, database)}
        return sorted(names)

    # ---- functions -----------------------------------------------------------------------------

    def find_function(self, name: str) -> Any:
        """Return a function of the user by name, None if there is none."""
        lowered = name.lower()
        if lowered in self.system_functions:
            return self.system_functions[lowered]
        path = self.qualify(tuple(name.split(".")))
        key = (path[0], path[1], path[2].lower())
        if key in self.temporary_functions:
            return self.temporary_functions[key]
        catalog = self.catalogs.get(path[0])
        database = None if catalog is None else catalog.databases.get(path[1])
        found = None if database is None else database.functions.get(path[2].lower())
        return self.modules.find_function(name) if found is None else found


@dataclass(frozen=True)
class View:
    """A query under a name."""

    node: Node
    text: str = ""
    comment: str | None = None
