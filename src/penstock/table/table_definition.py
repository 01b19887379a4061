"""From CREATE TABLE and ALTER TABLE to the table that a catalog holds, and back to text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.errors import CatalogError, ValidationError
from penstock.table.catalog_table import CatalogTable, Column
from penstock.table.names import hint
from penstock.table.sql import statements as st
from penstock.table.sql.type_parser import parse_type

if TYPE_CHECKING:
    from penstock.table.table_environment import TableEnvironment


def define_table(t_env: TableEnvironment, statement: st.CreateTable) -> CatalogTable:
    """Return the table that a statement describes."""
    columns = [_column(definition) for definition in statement.columns]
    if statement.query is not None:
        schema = t_env._bind(statement.query.tree).schema
        named = {column.name for column in columns}
        columns += [Column(c.name, c.type) for c in schema.fields if c.name not in named]
    watermark = None
    if statement.watermark is not None:
        definition = statement.watermark
        watermark = (
            ".".join(definition.column), definition.expression, definition.expression_text
        )  # fmt: skip
    table = CatalogTable(
        tuple(columns), dict(statement.options), statement.primary_key, watermark,
        statement.partitioned_by, statement.comment, ".".join(statement.name),
        statement.temporary,
    )  # fmt: skip
    if statement.like is not None:
        table = _merged(_source_of(t_env, statement.like), table, statement.like)
    _check(table)
    return table


def _column(definition: st.ColumnDefinition) -> Column:
    kind = None
    if definition.type_text is not None:
        kind = parse_type(definition.type_text)
        if definition.not_null:
            kind = kind.not_null()
    metadata = definition.metadata
    return Column(
        definition.name, kind, definition.expression, definition.expression_text,
        (metadata or definition.name) if metadata is not None else None, definition.virtual,
        definition.comment,
    )  # fmt: skip


def _check(table: CatalogTable) -> None:
    names = [column.name for column in table.columns]
    for name in names:
        if names.count(name) > 1:
            raise ValidationError(f"column {name!r} stands twice", where=f"table {table.name}")
    physical = table.physical().names()
    for key in table.primary_key:
        if key not in physical:
            raise ValidationError(
                f"the primary key names {key!r}, which is no physical column",
                where=f"table {table.name}",
                todo=hint(key, physical),
            )


def _source_of(t_env: TableEnvironment, like: st.Like) -> CatalogTable:
    found = t_env._catalogs.find(like.source)
    if isinstance(found, CatalogTable):
        return found
    known = t_env._catalogs.table_names()
    raise CatalogError(
        f"there is no table {'.'.join(like.source)!r} to be like", todo=hint(like.source[-1], known)
    )


def _merged(base: CatalogTable, own: CatalogTable, like: st.Like) -> CatalogTable:
    choice = {"ALL": "INCLUDING"}
    for verb, what in like.options:
        choice[what] = verb
    general = choice["ALL"]

    def verb_of(what: str, default: str = "INCLUDING") -> str:
        return choice.get(what, general if general == "EXCLUDING" else default)

    inherited = [
        column
        for column in base.columns
        if not (column.expression is not None and verb_of("GENERATED") == "EXCLUDING")
        and not (column.metadata is not None and verb_of("METADATA") == "EXCLUDING")
    ]
    own_names = {column.name for column in own.columns}
    columns = [c for c in inherited if c.name not in own_names] + list(own.columns)
    options: dict[str, str] = {}
    if verb_of("OPTIONS", "OVERWRITING") != "EXCLUDING":
        options.update(base.options)
    options.update(own.options)
    keys = verb_of("CONSTRAINTS") != "EXCLUDING"
    marks = verb_of("WATERMARKS") != "EXCLUDING"
    parts = verb_of("PARTITIONS") != "EXCLUDING"
    return replace(
        own, columns=tuple(columns), options=options,
        primary_key=own.primary_key or (base.primary_key if keys else ()),
        watermark=own.watermark or (base.watermark if marks else None),
        partition_keys=own.partition_keys or (base.partition_keys if parts else ()),
    )  # fmt: skip


def alter_table(
    t_env: TableEnvironment, table: CatalogTable, statement: st.AlterTable
) -> CatalogTable:
    """Return a table as ALTER TABLE changes it."""
    action = statement.action
    columns = list(table.columns)
    names = [column.name for column in columns]
    for key in statement.keys if action in ("rename_column", "drop_columns") else ():
        if key not in names:
            raise ValidationError(f"there is no column {key!r}", where=f"table {table.name}",
                                  todo=hint(key, names))  # fmt: skip
    if action == "set":
        table = replace(table, options={**table.options, **statement.options})
    elif action == "reset":
        kept = {k: v for k, v in table.options.items() if k not in statement.keys}
        table = replace(table, options=kept)
    elif action == "rename_column":
        old, new = statement.keys[0], statement.new_name[0]
        columns = [replace(c, name=new) if c.name == old else c for c in columns]
        renamed = tuple(new if k == old else k for k in table.primary_key)
        table = replace(table, columns=tuple(columns), primary_key=renamed)
    elif action == "drop_columns":
        kept_columns = tuple(c for c in columns if c.name not in statement.keys)
        table = replace(table, columns=kept_columns)
    elif action == "drop_key":
        table = replace(table, primary_key=())
    elif action == "drop_watermark":
        table = replace(table, watermark=None)
    else:
        table = _added(t_env, table, statement)
    _check(table)
    return table


def _added(t_env: TableEnvironment, table: CatalogTable, statement: st.AlterTable) -> CatalogTable:
    assert statement.schema is not None
    extra = define_table(t_env, replace(statement.schema, name=("",)))
    columns = list(table.columns)
    for added in extra.columns:
        column = added
        names = [c.name for c in columns]
        exists = column.name in names
        if exists is (statement.action == "add"):
            word = "is there already" if exists else "does not exist"
            raise ValidationError(f"column {column.name!r} {word}", where=f"table {table.name}")
        place = names.index(column.name) if exists else len(columns)
        if exists:
            if column.comment is None:
                column = replace(column, comment=columns[place].comment)
            del columns[place]
        position = statement.positions.get(column.name)
        if position == ("FIRST",):
            place = 0
        elif position is not None:
            place = [c.name for c in columns].index(position[1]) + 1
        columns.insert(place, column)
    return replace(
        table, columns=tuple(columns), primary_key=extra.primary_key or table.primary_key,
        watermark=extra.watermark or table.watermark,
    )  # fmt: skip
