"""Avro's schemas, as far as every reader and writer needs them: parsed, and checked for form."""

from __future__ import annotations

import json
import os
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.errors import ConfigurationError, show_value

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


class AvroSchema:
    """A schema of Avro's.

    >>> AvroSchema.parse_string('{"type": "array", "items": "int"}').definition
    {'type': 'array', 'items': 'int'}
    """

    def __init__(self, definition: Any) -> None:
        #: The schema as plain JSON; types that are referred to by name stay names.
        self.definition = definition

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Parse a schema.

        :raises ConfigurationError: if the text is no schema.
        """
        try:
            # A schema may be the bare name of a type, which need not be quoted.
            definition = json_schema if json_schema in PRIMITIVES else json.loads(json_schema)
            _check(definition, set())
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigurationError(
                "this is no Avro schema",
                where="AvroSchema",
                got=f"{show_value(json_schema)} ({type(error).__name__}: {error})",
            ) from None
        return AvroSchema(definition)

    @staticmethod
    def parse_file(file_path: str | os.PathLike[str]) -> AvroSchema:
        """Parse a file that holds a schema.

        :raises ConfigurationError: if it cannot be read, or holds no schema.
        """
        try:
            with open(file_path, encoding="utf-8") as file:
                return AvroSchema.parse_string(file.read())
        except OSError as error:
            raise ConfigurationError(
                "the file of an Avro schema cannot be read",
                where="AvroSchema",
                got=str(error),
            ) from error

    def __str__(self) -> str:
        return json.dumps(self.definition, separators=(",", ":"))

    def __repr__(self) -> str:
        return f"AvroSchema({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and self.definition == other.definition

    def __hash__(self) -> int:
        return hash(str(self))


class GenericRecordAvroTypeInfo(TypeInformation):
    """Records of an Avro schema: dicts, with lists, dicts and single values inside."""

    python_types = (object,)

    def __init__(self, schema: AvroSchema) -> None:
        self.schema = schema

    def _parts(self) -> tuple[Any, ...]:
        return (self.schema,)

    def __str__(self) -> str:
        return f"GenericRecord({self.schema})"


def full_name(definition: dict[str, Any], namespace: str) -> str:
    """Return the name by which others refer to a record, an enum or a fixed type."""
    name: str = definition["name"]
    space = definition.get("namespace", namespace)
    return name if "." in name or not space else f"{space}.{name}"


def _check(definition: Any, known: set[str], namespace: str = "") -> None:
    if isinstance(definition, str):
        name = f"{namespace}.{definition}" if namespace else definition
        if definition not in PRIMITIVES and not known & {definition, name}:
            raise ValueError(f"there is no type {definition!r}")
    elif isinstance(definition, list):
        for branch in definition:
            _check(branch, known, namespace)
    else:
        _check_complex(definition, known, namespace)


def _check_complex(definition: dict[str, Any], known: set[str], namespace: str) -> None:
    kind = definition["type"]
    if kind in ("record", "enum", "fixed"):
        name = full_name(definition, namespace)
        known.add(name)
        if kind == "record":
            for field in definition["fields"]:
                _check(field["type"], known, name.rpartition(".")[0])
        else:
            definition["symbols" if kind == "enum" else "size"]
    elif kind in ("array", "map"):
        _check(definition["items" if kind == "array" else "values"], known, namespace)
    else:
        _check(kind, known, namespace)
