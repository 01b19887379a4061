"""Run statements other than queries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.common import Row
from penstock.errors import CatalogError, ValidationError
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import project
from penstock.graph.relational.codegen.chunks import calc
from penstock.table.catalog_manager import Database, View
from penstock.table.catalog_table import CatalogTable, fitted
from penstock.table.names import hint, parts_of
from penstock.table.result_kind import ResultKind
from penstock.table.show_statements import describe, show
from penstock.table.sql import statements as st
from penstock.table.sql.expression_binder import ExpressionBinder
from penstock.table.sql.scope import Scope
from penstock.table.table_definition import alter_table, define_table
from penstock.table.table_result import TableResult

if TYPE_CHECKING:
    from penstock.table.table_environment import TableEnvironment

_OK = t.RowType.of(("result", t.STRING))


def ok() -> TableResult:
    """Return the result of a statement that has nothing to show."""
    return TableResult(_OK, [Row("OK")], kind=ResultKind.SUCCESS)


def run_statement(t_env: TableEnvironment, statement: st.Statement) -> TableResult:
    """Run one statement."""
    runner = _RUNNERS.get(type(statement))
    if runner is None:
        raise ValidationError("this statement is not supported", got=str(statement))
    return runner(t_env, statement)


# ---- queries and inserts


def _query(t_env: TableEnvironment, statement: st.Query) -> TableResult:
    return t_env._planner.collect(t_env._bind(statement.tree))


def bound_insert(t_env: TableEnvironment, statement: st.Insert) -> tuple[Any, Any]:
    """Return the rows of an INSERT and the table that they go to.

    :raises ValidationError: if it asks for what the connector cannot do.
    """
    node = t_env._bind(statement.query.tree)
    if not statement.partition:
        return insert_into(t_env, statement.target, node, statement.columns, statement.overwrite)
    table, name = _target(t_env, statement.target)
    for column in statement.partition:
        if column not in table.partition_keys:
            raise ValidationError(
                f"{column!r} is no partition column of {name!r}",
                where=f"INSERT INTO {name} PARTITION (...)",
                got=f"PARTITIONED BY ({', '.join(table.partition_keys)})",
                todo="select its values with the others",
            )
    binder = ExpressionBinder(Scope.of(node), t_env._catalogs.find_function)
    given = {
        column: binder.bind(tree)
        for column, tree in statement.partition.items()
        if tree is not None
    }
    values = tuple((column, _constant(expr, column)) for column, expr in given.items())
    others = [field.name for field in table.physical().fields if field.name not in given]
    columns = (*(statement.columns or others), *given)
    rows = project(node, [*node.refs(), *given.values()], [*node.names(), *given])
    sink = table.sink(t_env, statement.overwrite, values)
    return fitted(rows, sink.schema, columns, f"INSERT INTO {name}"), sink


def _constant(expr: Any, column: str) -> Any:
    """Return the value of a partition column in PARTITION (...)."""
    if expr.inputs():
        raise ValidationError(
            f"the value of {column!r} in PARTITION (...) must be a constant", got=str(expr)
        )
    return calc([expr], None, 1).load()["calc"]([(None,)])[0][0]


def _target(t_env: TableEnvironment, target: tuple[str, ...]) -> tuple[CatalogTable, str]:
    entry = t_env._catalogs.find(target)
    name = ".".join(target)
    if entry is None:
        known = t_env._catalogs.table_names()
        raise ValidationError(f"there is no table {name!r}", todo=hint(target[-1], known))
    if not isinstance(entry, CatalogTable):
        raise ValidationError(
            f"{name!r} is a view and cannot be written to", todo="INSERT INTO a table"
        )
    return entry, name


def insert_into(
    t_env: TableEnvironment,
    target: tuple[str, ...],
    node: Any,
    columns: tuple[str, ...] = (),
    overwrite: bool = False,
) -> tuple[Any, Any]:
    """Return rows that fit a table, and the table as a sink."""
    table, name = _target(t_env, target)
    sink = table.sink(t_env, overwrite)
    return fitted(node, sink.schema, columns, f"INSERT INTO {name}"), sink


def _insert(t_env: TableEnvironment, statement: st.Insert) -> TableResult:
    node, sink = bound_insert(t_env, statement)
    return started(t_env, [(node, sink)])


def started(t_env: TableEnvironment, sinks: list[tuple[Any, Any]]) -> TableResult:
    """Start a job of inserts; the result says how many rows of each are known: -1."""
    names = [".".join(t_env._catalogs.qualify(parts_of(sink.name))) for _, sink in sinks]
    handle = t_env._planner.insert(sinks, f"insert-into_{','.join(names)}")
    schema = t.RowType.of(*((name, t.BIGINT) for name in names))
    return TableResult(
        schema,
        [Row(*([-1] * len(names)))],
        kind=ResultKind.SUCCESS_WITH_CONTENT,
        handle=handle,
        raw=True,
    )


def _statement_set(t_env: TableEnvironment, statement: st.StatementSetStatement) -> TableResult:
    return started(t_env, [bound_insert(t_env, insert) for insert in statement.inserts])


# ---- tables and views


def _create_table(t_env: TableEnvironment, statement: st.CreateTable) -> TableResult:
    table = define_table(t_env, statement)
    created = t_env._catalogs.create(
        statement.name, table, temporary=statement.temporary,
        if_not_exists=statement.if_not_exists, replace=statement.replace,
    )  # fmt: skip
    if statement.query is not None and created:
        node = t_env._bind(statement.query.tree)
        return started(t_env, [insert_into(t_env, statement.name, node)])
    return ok()


def _create_view(t_env: TableEnvironment, statement: st.CreateView) -> TableResult:
    node = t_env._bind(statement.query.tree)
    if statement.columns:
        node = t_env._renamed(node, list(statement.columns))
    t_env._catalogs.create(
        statement.name, View(node, statement.query.text, statement.comment),
        temporary=statement.temporary, if_not_exists=statement.if_not_exists,
        replace=statement.replace,
    )  # fmt: skip
    return ok()


def _drop(t_env: TableEnvironment, statement: st.Drop) -> TableResult:
    catalogs = t_env._catalogs
    if statement.kind in ("TABLE", "VIEW"):
        entry = catalogs.find(statement.name)
        if entry is not None and isinstance(entry, View) is not (statement.kind == "VIEW"):
            kind = "view" if isinstance(entry, View) else "table"
            raise CatalogError(
                f"{'.'.join(statement.name)!r} is a {kind}", todo=f"use DROP {kind.upper()}"
            )
        temporary = True if statement.temporary else None
        catalogs.drop(statement.name, temporary=temporary, if_exists=statement.if_exists)
    elif statement.kind == "FUNCTION":
        t_env._drop_function(statement.name, statement.if_exists)
    elif statement.kind == "DATABASE":
        _drop_database(t_env, statement)
    elif statement.name[0] not in catalogs.catalogs:
        if not statement.if_exists:
            catalogs.catalog(statement.name[0])
    elif statement.name[0] == catalogs.current_catalog:
        raise CatalogError("the current catalog cannot be dropped", todo="USE CATALOG another one")
    else:
        del catalogs.catalogs[statement.name[0]]
    return ok()


def _drop_database(t_env: TableEnvironment, statement: st.Drop) -> None:
    catalogs = t_env._catalogs
    catalog = statement.name[0] if len(statement.name) == 2 else catalogs.current_catalog
    name = statement.name[-1]
    databases = catalogs.catalog(catalog).databases
    if name not in databases:
        if not statement.if_exists:
            catalogs.database(catalog, name)
        return
    if databases[name].tables and not statement.cascade:
        raise CatalogError(
            f"the database {name!r} is not empty",
            got=f"tables {', '.join(sorted(databases[name].tables))}",
            todo="drop them first, or use CASCADE",
        )
    del databases[name]


def _alter_table(t_env: TableEnvironment, statement: st.AlterTable) -> TableResult:
    catalogs = t_env._catalogs
    entry = catalogs.find(statement.name)
    if not isinstance(entry, CatalogTable):
        if statement.if_exists:
            return ok()
        raise CatalogError(
            f"there is no table {'.'.join(statement.name)!r}",
            todo=hint(statement.name[-1], catalogs.table_names()),
        )
    temporary = catalogs.qualify(statement.name) in catalogs.temporary_tables
    if statement.action == "rename":
        catalogs.drop(statement.name, temporary=temporary, if_exists=False)
        target = (*statement.name[:-1], statement.new_name[-1])
        catalogs.create(target, entry.named(".".join(target)), temporary=temporary)
        return ok()
    changed = alter_table(t_env, entry, statement)
    catalogs.create(statement.name, changed, temporary=temporary, replace=True)
    return ok()


def _alter_view(t_env: TableEnvironment, statement: st.AlterView) -> TableResult:
    catalogs = t_env._catalogs
    entry = catalogs.find(statement.name)
    if not isinstance(entry, View):
        raise CatalogError(f"there is no view {'.'.join(statement.name)!r}")
    temporary = catalogs.qualify(statement.name) in catalogs.temporary_tables
    if statement.new_name:
        catalogs.drop(statement.name, temporary=temporary, if_exists=False)
        catalogs.create(statement.new_name, entry, temporary=temporary)
    elif statement.query is not None:
        view = View(t_env._bind(statement.query.tree), statement.query.text, entry.comment)
        catalogs.create(statement.name, view, temporary=temporary, replace=True)
    return ok()


# ---- functions, databases, catalogs


def _create_function(t_env: TableEnvironment, statement: st.CreateFunction) -> TableResult:
    t_env._create_function(statement)
    return ok()


def _alter_function(t_env: TableEnvironment, statement: st.AlterFunction) -> TableResult:
    t_env._drop_function(statement.function.name, statement.if_exists)
    t_env._create_function(statement.function)
    return ok()


def _create_database(t_env: TableEnvironment, statement: st.CreateDatabase) -> TableResult:
    catalogs = t_env._catalogs
    catalog = statement.name[0] if len(statement.name) == 2 else catalogs.current_catalog
    databases = catalogs.catalog(catalog).databases
    if statement.name[-1] in databases:
        if not statement.if_not_exists:
            raise CatalogError(f"there is a database {statement.name[-1]!r} already")
        return ok()
    databases[statement.name[-1]] = Database(comment=statement.comment, options=statement.options)
    return ok()


def _alter_database(t_env: TableEnvironment, statement: st.AlterDatabase) -> TableResult:
    catalogs = t_env._catalogs
    catalog = statement.name[0] if len(statement.name) == 2 else catalogs.current_catalog
    catalogs.database(catalog, statement.name[-1]).options.update(statement.options)
    return ok()


def _create_catalog(t_env: TableEnvironment, statement: st.CreateCatalog) -> TableResult:
    if statement.if_not_exists and statement.name in t_env._catalogs.catalogs:
        return ok()
    t_env._create_catalog(statement.name, dict(statement.options), statement.comment)
    return ok()


def _use(t_env: TableEnvironment, statement: st.Use) -> TableResult:
    if statement.kind == "CATALOG":
        t_env._catalogs.use_catalog(statement.name[0])
    elif statement.kind == "DATABASE":
        t_env._catalogs.use_database(statement.name)
    else:
        t_env.use_modules(*statement.name)
    return ok()


def _load(t_env: TableEnvironment, statement: st.LoadModule) -> TableResult:
    t_env.load_module(statement.name)
    return ok()


def _unload(t_env: TableEnvironment, statement: st.UnloadModule) -> TableResult:
    t_env.unload_module(statement.name)
    return ok()


# ---- EXPLAIN, SET


def _explain(t_env: TableEnvironment, statement: st.Explain) -> TableResult:
    text = t_env._explained(statement.statement, statement.details)
    return TableResult(_OK, [Row(text)], raw=True)


def _set(t_env: TableEnvironment, statement: st.SetOption) -> TableResult:
    if statement.key is None:
        settings = t_env.get_config().to_map()
        schema = t.RowType.of(("key", t.STRING), ("value", t.STRING))
        return TableResult(schema, [Row(k, v) for k, v in sorted(settings.items())])
    t_env.get_config().set(statement.key, statement.value)
    return ok()


def _reset(t_env: TableEnvironment, statement: st.ResetOption) -> TableResult:
    configuration = t_env.get_config().get_configuration()
    for key in [statement.key] if statement.key else list(t_env.get_config().to_map()):
        configuration.remove_config(key)
    return ok()


def _jar(t_env: TableEnvironment, statement: st.Jar) -> TableResult:
    warnings.warn(f"{statement.action} JAR has no effect: there is no JVM to load it", stacklevel=2)
    return ok()


def _unsupported(t_env: TableEnvironment, statement: st.Unsupported) -> TableResult:
    raise ValidationError(statement.what, got=statement.text, todo=statement.todo)


_RUNNERS: dict[type, Callable[[Any, Any], TableResult]] = {
    st.Query: _query,
    st.Insert: _insert,
    st.StatementSetStatement: _statement_set,
    st.CreateTable: _create_table,
    st.CreateView: _create_view,
    st.CreateFunction: _create_function,
    st.CreateDatabase: _create_database,
    st.CreateCatalog: _create_catalog,
    st.Drop: _drop,
    st.AlterTable: _alter_table,
    st.AlterView: _alter_view,
    st.AlterFunction: _alter_function,
    st.AlterDatabase: _alter_database,
    st.Use: _use,
    st.LoadModule: _load,
    st.UnloadModule: _unload,
    st.Show: show,
    st.Describe: describe,
    st.Explain: _explain,
    st.SetOption: _set,
    st.ResetOption: _reset,
    st.Jar: _jar,
    st.Unsupported: _unsupported,
}
