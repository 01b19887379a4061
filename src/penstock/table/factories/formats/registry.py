"""All formats, and how a table finds its own."""

from __future__ import annotations

from typing import Any

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table.factories.base import TableContext
from penstock.table.factories.formats.avro_format import AvroFormat, ConfluentAvroFormat
from penstock.table.factories.formats.base import FormatContext, RowFormat
from penstock.table.factories.formats.changelog_json import (
    CanalJsonFormat,
    ChangelogJsonFormat,
    DebeziumJsonFormat,
    MaxwellJsonFormat,
    OggJsonFormat,
)
from penstock.table.factories.formats.csv_format import CsvFormat
from penstock.table.factories.formats.json_format import JsonFormat
from penstock.table.factories.formats.raw_format import RawFormat

FORMATS: dict[str, Any] = {
    "avro": AvroFormat,
    "avro-confluent": ConfluentAvroFormat,
    "canal-json": CanalJsonFormat,
    "csv": CsvFormat,
    "debezium-json": DebeziumJsonFormat,
    "json": JsonFormat,
    "maxwell-json": MaxwellJsonFormat,
    "ogg-json": OggJsonFormat,
    "raw": RawFormat,
}
#: Prefixes of options that belong to formats, for connectors that have any.
FORMAT_PREFIXES = frozenset(
    f"{part}{name}." for name in (*FORMATS, "orc", "parquet") for part in ("", "key.", "value.")
)


def find_format(
    context: TableContext,
    key: str = "format",
    schema: t.RowType | None = None,
    metadata: tuple[str, ...] = (),
) -> RowFormat:
    """Return the format of messages that a table names.

    :param key: the option that names it: `format`, `value.format` or `key.format`.
    :param schema: the columns that it writes; those of the table if left out.
    """
    name = context.required(key)
    if name not in FORMATS:
        raise unknown_format(context, name, sorted(FORMATS))
    made: RowFormat = FORMATS[name](
        format_context(context, key, FORMATS[name].options, schema, metadata)
    )
    return made


def format_context(
    context: TableContext,
    key: str,
    known: frozenset[str],
    schema: t.RowType | None = None,
    metadata: tuple[str, ...] = (),
) -> FormatContext:
    """Return what a format must know of a table.

    :raises ValidationError: if it has options that the format does not know.
    """
    name = context.required(key)
    prefix = f"{key.removesuffix('format')}{name}."
    given = {
        option.removeprefix(prefix): value
        for option, value in context.options.items()
        if option.startswith(prefix)
    }
    prefixes = tuple(option for option in known if option.endswith("."))
    for option in given:
        if option not in known and not option.startswith(prefixes or "\0"):
            raise ValidationError(
                f"the format {name!r} does not know the option '{prefix}{option}'",
                where=f"table {context.name}",
                got=f"'{prefix}{option}' = '{given[option]}'",
                todo=f"it knows: {', '.join(sorted(known)) or 'none'}",
            )
    return FormatContext(
        name, context.name, context.schema if schema is None else schema, given, prefix, metadata,
        context.options.get("topic", ""),
    )  # fmt: skip


def format_metadata(context: TableContext, key: str) -> dict[str, t.LogicalType]:
    """Return the types of the metadata that messages of a format have."""
    made = FORMATS.get(context.options.get(key, ""))
    if made is not None and issubclass(made, ChangelogJsonFormat):
        return dict(made.readable_metadata)
    return {}


def unknown_format(context: TableContext, name: str, known: list[str]) -> ValidationError:
    """Return the error for a format that is not there."""
    return ValidationError(
        f"there is no format {name!r}",
        where=f"table {context.name}",
        todo=f"use one of: {', '.join(known)}",
    )
