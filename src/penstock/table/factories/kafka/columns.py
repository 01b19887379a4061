"""Which columns of a table stand in a message's key, and which in its value."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table.factories.base import TableContext
from penstock.table.factories.formats.base import RowFormat
from penstock.table.factories.formats.registry import find_format, format_metadata

#: What stands in front of the keys of metadata that the format of the values has.
VALUE_METADATA = "value."


@dataclass(frozen=True)
class MessageColumns:
    """The formats of keys and values, and the places of their columns in a row."""

    value: RowFormat
    value_places: tuple[int, ...]
    key: RowFormat | None = None
    key_places: tuple[int, ...] = ()

    @staticmethod
    def of(context: TableContext, key_names: tuple[str, ...] | None) -> MessageColumns:
        """Return what a table's options say.

        :param key_names: the columns of the key; None: `key.fields` names them.
        """
        names = context.schema.names()
        prefix = context.options.get("key.fields-prefix", "")
        wanted = _key_fields(context) if key_names is None else key_names
        for name in wanted:
            if name not in names:
                raise ValidationError(
                    f"'key.fields' names {name!r}, which is no physical column",
                    where=f"table {context.name}",
                    todo=f"use some of: {', '.join(names)}",
                )
            if not name.startswith(prefix):
                raise ValidationError(
                    f"a column of the key does not begin with 'key.fields-prefix': {name!r}",
                    where=f"table {context.name}",
                    got=f"'key.fields-prefix' = '{prefix}'",
                    todo=f"name the column {prefix}{name}",
                )
        include = context.options.get("value.fields-include", "ALL").upper()
        if include not in ("ALL", "EXCEPT_KEY"):
            raise ValidationError(
                "the option 'value.fields-include' has no such value",
                where=f"table {context.name}",
                got=include,
                todo="use ALL or EXCEPT_KEY",
            )
        if prefix and include == "ALL":
            raise ValidationError(
                "with 'key.fields-prefix' the columns of the key do not stand in the value",
                where=f"table {context.name}",
                todo="set 'value.fields-include' = 'EXCEPT_KEY'",
            )
        places = tuple(names.index(name) for name in wanted)
        rest = tuple(i for i in range(len(names)) if include == "ALL" or i not in places)
        option = value_option(context)
        metadata = tuple(
            key.removeprefix(VALUE_METADATA) for key in context.metadata
            if key.startswith(VALUE_METADATA)
        )  # fmt: skip
        value = find_format(context, option, _picked(context.schema, rest), metadata)
        key = None
        if "key.format" in context.options:
            key = find_format(context, "key.format", _picked(context.schema, places, len(prefix)))
            if key.kinds != frozenset("I"):
                raise ValidationError(
                    f"the format {key.context.name!r} has changes, and a key has none",
                    where=f"table {context.name}, 'key.format'",
                    todo="use json, csv, avro or raw",
                )
        return MessageColumns(value, rest, key, places)


def value_option(context: TableContext) -> str:
    """Return the option that names the format of the values."""
    if "value.format" in context.options and "format" in context.options:
        raise ValidationError(
            "'format' and 'value.format' are the same",
            where=f"table {context.name}",
            todo="give one of them only",
        )
    return "value.format" if "value.format" in context.options else "format"


def value_metadata(context: TableContext) -> dict[str, t.LogicalType]:
    """Return the metadata that the format of the values has."""
    found = format_metadata(context, value_option(context))
    return {f"{VALUE_METADATA}{key}": kind for key, kind in found.items()}


def _key_fields(context: TableContext) -> tuple[str, ...]:
    listed = context.options.get("key.fields")
    if ("key.format" in context.options) is not bool(listed):
        raise ValidationError(
            "'key.format' and 'key.fields' come together",
            where=f"table {context.name}",
            got="only 'key.fields'" if listed else "only 'key.format'",
            todo="add the other: 'key.fields' = 'a;b' names columns of the table",
        )
    return tuple(name for name in (listed or "").split(";") if name)


def _picked(schema: t.RowType, places: tuple[int, ...], cut: int = 0) -> t.RowType:
    fields = (schema.fields[i] for i in places)
    named = tuple(t.RowField(column.name[cut:], column.type) for column in fields)
    return t.RowType(named, is_nullable=False)
