"""SHOW and DESCRIBE."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common import Row
from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table.catalog_table import CatalogTable
from penstock.table.described import (
    create_catalog_statement,
    create_statement,
    described,
    found_entry,
)
from penstock.table.sql import statements as st
from penstock.table.table_result import TableResult

if TYPE_CHECKING:
    from penstock.table.table_environment import TableEnvironment


def listed(name: str, values: Sequence[Any]) -> TableResult:
    """Return a result of one column."""
    return TableResult(t.RowType.of((name, t.STRING)), [Row(value) for value in values])


def show(t_env: TableEnvironment, statement: st.Show) -> TableResult:
    """Run a SHOW statement.

    :raises ValidationError: if there is no such statement.
    """
    catalogs = t_env._catalogs
    kind = statement.kind
    if kind in ("CREATE TABLE", "CREATE VIEW"):
        return listed("result", [create_statement(t_env, statement.name)])
    if kind == "CREATE CATALOG":
        return listed("result", [create_catalog_statement(t_env, statement.name[-1])])
    if kind == "COLUMNS":
        return describe(t_env, st.Describe("TABLE", statement.name), statement)
    if kind == "FULL MODULES":
        columns = t.RowType.of(("module name", t.STRING), ("used", t.BOOLEAN))
        entries = t_env.list_full_modules()
        return TableResult(columns, [Row(each.name(), each.used()) for each in entries])
    if kind == "CURRENT CATALOG":
        return listed("current catalog name", [catalogs.current_catalog])
    if kind == "CURRENT DATABASE":
        return listed("current database name", [catalogs.current_database])
    names = _names(t_env, statement)
    if kind not in names:
        raise ValidationError(
            f"SHOW {kind} is not supported", todo=f"SHOW one of: {', '.join(sorted(names))}"
        )
    title = kind.lower().removesuffix("s").replace("user ", "") + " name"
    return listed(title, [name for name in names[kind]() if _is_like(name, statement)])


def _names(t_env: TableEnvironment, statement: st.Show) -> dict[str, Callable[[], list[str]]]:
    catalogs = t_env._catalogs
    catalog, database = catalogs.current_catalog, catalogs.current_database
    if statement.name and statement.kind not in ("DATABASES", "PARTITIONS"):
        database = statement.name[-1]
        catalog = statement.name[0] if len(statement.name) == 2 else catalog
    return {
        "CATALOGS": lambda: sorted(catalogs.catalogs),
        "DATABASES": lambda: sorted(
            catalogs.catalog(statement.name[0] if statement.name else catalog).databases
        ),
        "TABLES": lambda: catalogs.names_in(catalog, database),
        "VIEWS": t_env.list_views,
        "FUNCTIONS": t_env.list_functions,
        "USER FUNCTIONS": t_env.list_user_defined_functions,
        "MODULES": t_env.list_modules,
        "JARS": list,
        "PARTITIONS": lambda: _partitions(t_env, statement.name),
        "PROCEDURES": list,
        "JOBS": list,
    }


def _partitions(t_env: TableEnvironment, name: tuple[str, ...]) -> list[str]:
    entry = found_entry(t_env, name)
    if not isinstance(entry, CatalogTable):
        raise ValidationError(f"{'.'.join(name)!r} is a view and has no partitions")
    return entry.partitions(t_env)


def _is_like(name: str, statement: st.Show) -> bool:
    if statement.like is None:
        return True
    pattern = re.escape(statement.like).replace("%", ".*").replace("_", ".")
    return (re.fullmatch(pattern, name) is not None) is not statement.not_like


def describe(
    t_env: TableEnvironment, statement: st.Describe, like: st.Show | None = None
) -> TableResult:
    """Return the columns of a table as rows; those with some names only for SHOW COLUMNS.

    A catalog has its properties instead.
    """
    if statement.kind == "CATALOG":
        return _describe_catalog(t_env, statement)
    if statement.kind != "TABLE":
        raise ValidationError(
            f"DESCRIBE {statement.kind} is not supported", todo="DESCRIBE a table or a catalog"
        )
    schema = described(t_env, statement.name)
    key = schema.get_primary_key()
    keys = [] if key is None else key.get_columns()
    marks = {
        mark.get_rowtime_attribute(): mark.get_watermark_expression()
        for mark in schema.get_watermark_specs()
    }
    commented = any(column.get_comment() is not None for column in schema.get_columns())
    rows = []
    for column in schema.get_columns():
        name, kind = column.get_name(), column.get_data_type()
        if like is not None and not _is_like(name, like):
            continue
        cells = [
            name, kind.nullable().as_summary_string(), kind.is_nullable,
            f"PRI({', '.join(keys)})" if name in keys else None, column.explain_extras(),
            marks.get(name),
        ]  # fmt: skip
        rows.append(Row(*cells, column.get_comment()) if commented else Row(*cells))
    heads = ["name", "type", "null", "key", "extras", "watermark"]
    heads += ["comment"] if commented else []
    kinds = (t.BOOLEAN if head == "null" else t.STRING for head in heads)
    columns = t.RowType.of(*zip(heads, kinds, strict=False))
    return TableResult(columns, rows, null_text="")


def _describe_catalog(t_env: TableEnvironment, statement: st.Describe) -> TableResult:
    name = statement.name[-1]
    catalog = t_env._catalogs.catalog(name)
    kind = catalog.options.get("type", "generic_in_memory")
    facts = [("name", name), ("type", kind), ("comment", catalog.comment or "")]
    if statement.extended:
        facts += [(f"option:{key}", value) for key, value in sorted(catalog.options.items())]
    columns = t.RowType.of(("info name", t.STRING), ("info value", t.STRING))
    return TableResult(columns, [Row(*fact) for fact in facts])
