"""What a catalog holds, described: resolved schemas, and the statements that create it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from penstock.errors import CatalogError
from penstock.graph.relational import types as t
from penstock.table.catalog_manager import View
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
from penstock.table.sql.unparse import flink_text

if TYPE_CHECKING:
    from penstock.table.table_environment import TableEnvironment


def found_entry(t_env: TableEnvironment, name: tuple[str, ...]) -> Any:
    """Return a table or view.

    :raises CatalogError: if there is none.
    """
    entry = t_env._catalogs.find(name)
    if entry is None:
        raise CatalogError(
            f"there is no table {'.'.join(name)!r}",
            todo=hint(name[-1], t_env._catalogs.table_names()),
        )
    return entry


def described(t_env: TableEnvironment, name: tuple[str, ...]) -> ResolvedSchema:
    """Return the columns of a table or view."""
    entry = found_entry(t_env, name)
    schema = entry.node.schema if isinstance(entry, View) else entry.resolved(t_env)
    return resolved(schema, entry, t_env)


def resolved(schema: t.RowType, entry: Any, t_env: TableEnvironment) -> ResolvedSchema:
    """Return columns as Flink describes them.

    :param entry: what the catalog holds; None for the result of a query.
    """
    if not t_env._settings.is_streaming_mode():
        schema = _without_rowtime(schema)
    if not isinstance(entry, CatalogTable):
        return ResolvedSchema.physical(schema.names(), schema.children())
    types = dict(zip(schema.names(), schema.children(), strict=True))
    columns = [_column(declared, types[declared.name]) for declared in entry.columns]
    marks = []
    if entry.watermark is not None:
        name, tree, text = entry.watermark
        kind = types[name]
        if isinstance(kind, t.PointInTimeType):
            kind = kind.as_attribute(t.TimeAttribute.NONE)
        marks.append(WatermarkSpec(name, flink_text(tree, text), kind))
    return ResolvedSchema(tuple(columns), tuple(marks), _key(entry))


def _column(declared: DeclaredColumn, kind: t.LogicalType) -> Column:
    if declared.expression is not None:
        text = flink_text(declared.expression, declared.expression_text)
        return ComputedColumn(declared.name, kind, declared.comment, text)
    if declared.metadata is not None:
        key = None if declared.metadata == declared.name else declared.metadata
        return MetadataColumn(declared.name, kind, declared.comment, key, declared.virtual)
    return PhysicalColumn(declared.name, kind, declared.comment)


def _key(entry: CatalogTable) -> UniqueConstraint | None:
    if not entry.primary_key:
        return None
    return UniqueConstraint("PK_" + "_".join(entry.primary_key), entry.primary_key)


def _without_rowtime(schema: t.RowType) -> t.RowType:
    """Return the columns as BATCH mode knows them: rows have times, but nothing waits for them."""
    fields = []
    for column in schema.fields:
        kind = column.type
        if isinstance(kind, t.PointInTimeType) and kind.attribute is t.TimeAttribute.ROWTIME:
            kind = kind.as_attribute(t.TimeAttribute.NONE)
        fields.append(t.RowField(column.name, kind, column.description))
    return t.RowType(tuple(fields), is_nullable=schema.is_nullable)


def create_statement(t_env: TableEnvironment, name: tuple[str, ...]) -> str:
    """Return the statement that creates a table or view as it is now."""
    entry = found_entry(t_env, name)
    path = ".".join(f"`{part}`" for part in t_env._catalogs.qualify(name))
    temporary = t_env._catalogs.qualify(name) in t_env._catalogs.temporary_tables
    word = "TEMPORARY " if temporary else ""
    if isinstance(entry, View):
        columns = "".join(f"  `{n}`,\n" for n in entry.node.names()).removesuffix(",\n")
        comment = f"\nCOMMENT '{entry.comment}'" if entry.comment else ""
        return f"CREATE {word}VIEW {path} (\n{columns}\n){comment}\nAS {entry.text}\n"
    assert isinstance(entry, CatalogTable)
    lines = [_declared_text(entry, column) for column in entry.columns]
    if entry.watermark is not None:
        column, tree, text = entry.watermark
        lines.append(f"WATERMARK FOR `{column}` AS {flink_text(tree, text)}")
    key = _key(entry)
    if key is not None:
        lines.append(key.as_summary_string())
    text = f"CREATE {word}TABLE {path} (\n" + ",\n".join(f"  {line}" for line in lines) + "\n)\n"
    if entry.comment:
        text += f"COMMENT '{entry.comment}'\n"
    if entry.partition_keys:
        text += f"PARTITIONED BY ({', '.join(f'`{k}`' for k in entry.partition_keys)})\n"
    options = ",\n".join(f"  '{k}' = '{v}'" for k, v in sorted(entry.options.items()))
    return f"{text}WITH (\n{options}\n)\n"


def create_catalog_statement(t_env: TableEnvironment, name: str) -> str:
    """Return the statement that creates a catalog."""
    catalog = t_env._catalogs.catalog(name)
    comment = f"COMMENT '{catalog.comment}'\n" if catalog.comment else ""
    given = catalog.options or {"type": "generic_in_memory"}
    options = ",\n".join(f"  '{key}' = '{value}'" for key, value in sorted(given.items()))
    return f"CREATE CATALOG `{name}`\n{comment}WITH (\n{options}\n)\n"


def _declared_text(table: CatalogTable, column: DeclaredColumn) -> str:
    if column.expression is not None:
        text = f"`{column.name}` AS {flink_text(column.expression, column.expression_text)}"
    else:
        assert column.type is not None
        kind = column.type.not_null() if column.name in table.primary_key else column.type
        text = f"`{column.name}` {_full_name(kind)}"
    if column.metadata is not None:
        key = "" if column.metadata == column.name else f" FROM '{column.metadata}'"
        text += f" METADATA{key}" + (" VIRTUAL" if column.virtual else "")
    return text if column.comment is None else f"{text} COMMENT '{column.comment}'"


def _full_name(kind: t.LogicalType) -> str:
    """Return a type without short forms."""
    text = kind.as_summary_string()
    text = re.sub(r"\bSTRING\b", f"VARCHAR({t.MAX_LENGTH})", text)
    text = re.sub(r"\bBYTES\b", f"VARBINARY({t.MAX_LENGTH})", text)
    return re.sub(r"\bTIMESTAMP_LTZ(\(\d\))", r"TIMESTAMP\1 WITH LOCAL TIME ZONE", text)
