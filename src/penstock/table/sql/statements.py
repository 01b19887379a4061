"""Statements as the parser hands them over: plain data, names not looked up yet.

A query stays a tree of sqlglot; the binder reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: `catalog.database.name`, as many parts as were written.
Name = tuple[str, ...]


class Statement:
    """Base of all statements."""


@dataclass(frozen=True)
class Query(Statement):
    """SELECT, VALUES, WITH, set operations."""

    tree: Any  # sqlglot expression
    text: str


@dataclass(frozen=True)
class ColumnDefinition:
    """A column of CREATE TABLE: physical, computed (`expression`) or metadata (`metadata`)."""

    name: str
    type_text: str | None = None
    not_null: bool = False
    expression: Any = None
    expression_text: str = ""
    #: Key of the metadata, "" for the column's own name; None: no metadata column.
    metadata: str | None = None
    virtual: bool = False
    comment: str | None = None


@dataclass(frozen=True)
class WatermarkDefinition:
    """`WATERMARK FOR column AS expression`."""

    column: Name
    expression: Any
    expression_text: str


@dataclass(frozen=True)
class Like:
    """`LIKE other (INCLUDING ... EXCLUDING ... OVERWRITING ...)`."""

    source: Name
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class CreateTable(Statement):
    """CREATE TABLE, also AS a query."""

    name: Name
    columns: tuple[ColumnDefinition, ...] = ()
    primary_key: tuple[str, ...] = ()
    watermark: WatermarkDefinition | None = None
    partitioned_by: tuple[str, ...] = ()
    comment: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    like: Like | None = None
    query: Query | None = None
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True)
class CreateView(Statement):
    """CREATE VIEW."""

    name: Name
    query: Query
    columns: tuple[str, ...] = ()
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True)
class CreateFunction(Statement):
    """CREATE FUNCTION."""

    name: Name
    identifier: str
    language: str = "JAVA"
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateDatabase(Statement):
    """CREATE DATABASE."""

    name: Name
    comment: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateCatalog(Statement):
    """CREATE CATALOG."""

    name: str
    comment: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    if_not_exists: bool = False


@dataclass(frozen=True)
class Drop(Statement):
    """DROP of a TABLE, VIEW, FUNCTION, DATABASE or CATALOG."""

    kind: str
    name: Name
    if_exists: bool = False
    temporary: bool = False
    system: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class AlterTable(Statement):
    """One ALTER TABLE; `action` says which fields count."""

    name: Name
    action: str  # rename, rename_column, set, reset, add, modify, drop_columns, drop_key, ...
    if_exists: bool = False
    new_name: Name = ()
    options: dict[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    #: What ADD and MODIFY bring along; positions by column name: ("FIRST",) or ("AFTER", other).
    schema: CreateTable | None = None
    positions: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class AlterView(Statement):
    """ALTER VIEW: a new name or a new query."""

    name: Name
    new_name: Name = ()
    query: Query | None = None


@dataclass(frozen=True)
class AlterFunction(Statement):
    """ALTER FUNCTION."""

    function: CreateFunction
    if_exists: bool = False


@dataclass(frozen=True)
class AlterDatabase(Statement):
    """ALTER DATABASE ... SET."""

    name: Name
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Use(Statement):
    """USE of a catalog, a database or modules."""

    kind: str  # CATALOG, DATABASE, MODULES
    name: Name


@dataclass(frozen=True)
class LoadModule(Statement):
    """LOAD MODULE."""

    name: str
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class UnloadModule(Statement):
    """UNLOAD MODULE."""

    name: str


@dataclass(frozen=True)
class Show(Statement):
    """SHOW of many things (`TABLES`, `CURRENT CATALOG` ...), some of them of one object."""

    kind: str
    name: Name = ()
    like: str | None = None
    not_like: bool = False


@dataclass(frozen=True)
class Describe(Statement):
    """DESCRIBE of a table or another object."""

    kind: str  # TABLE, CATALOG, FUNCTION, ...
    name: Name
    extended: bool = False


@dataclass(frozen=True)
class Explain(Statement):
    """EXPLAIN of another statement."""

    statement: Statement
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class SetOption(Statement):
    """SET; without a key it lists all options."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class ResetOption(Statement):
    """RESET of one option, or of all."""

    key: str | None = None


@dataclass(frozen=True)
class Insert(Statement):
    """INSERT INTO or OVERWRITE."""

    target: Name
    query: Query
    columns: tuple[str, ...] = ()
    partition: dict[str, Any] = field(default_factory=dict)
    overwrite: bool = False
    hints: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StatementSetStatement(Statement):
    """EXECUTE STATEMENT SET BEGIN ... END."""

    inserts: tuple[Insert, ...]


@dataclass(frozen=True)
class Jar(Statement):
    """ADD JAR, REMOVE JAR: accepted with a warning."""

    action: str
    path: str


@dataclass(frozen=True)
class Unsupported(Statement):
    """A statement of Flink's that has no meaning here; `todo` says what to do instead."""

    text: str
    what: str
    todo: str
