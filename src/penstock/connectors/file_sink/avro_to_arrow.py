"""Avro's types as Arrow's, for Avro records in Parquet files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.connectors.avro_schema import AvroSchema, full_name
from penstock.errors import ConfigurationError

_PRIMITIVES = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
}


def avro_as_arrow(schema: AvroSchema) -> pa.Schema:
    """Return the Arrow schema of records of an Avro schema.

    :raises ConfigurationError: if it is no record, or has a union of several types.
    """
    definition = schema.definition
    if not isinstance(definition, dict) or definition.get("type") != "record":
        raise _refused("the schema of a file must be a record", definition)
    return pa.schema(list(_Types().convert(definition, "")))


class _Types:
    def __init__(self) -> None:
        self._named: dict[str, pa.DataType] = {}

    def convert(self, definition: Any, namespace: str) -> pa.DataType:
        if isinstance(definition, str):
            found = _PRIMITIVES.get(definition) or self._named.get(definition)
            found = found or self._named.get(f"{namespace}.{definition}")
            if found is None:
                raise _refused("a type refers to itself", definition)
            return found
        if isinstance(definition, list):
            branches = [branch for branch in definition if branch != "null"]
            if len(branches) != 1:
                raise _refused("a column cannot hold a union of several types", definition)
            return self.convert(branches[0], namespace)
        return self._complex(definition, namespace)

    def _complex(self, definition: dict[str, Any], namespace: str) -> pa.DataType:
        kind = definition["type"]
        if kind == "array":
            return pa.list_(self.convert(definition["items"], namespace))
        if kind == "map":
            return pa.map_(pa.string(), self.convert(definition["values"], namespace))
        if kind not in ("record", "enum", "fixed"):
            return self._logical(definition) or self.convert(kind, namespace)
        name = full_name(definition, namespace)
        inner = name.rpartition(".")[0]
        found: pa.DataType = pa.string()
        if kind == "fixed":
            found = self._logical(definition) or pa.binary(definition["size"])
        elif kind == "record":
            fields = definition["fields"]
            found = pa.struct([pa.field(f["name"], self.convert(f["type"], inner)) for f in fields])
        self._named[name] = found
        return found

    def _logical(self, definition: dict[str, Any]) -> pa.DataType | None:
        name = definition.get("logicalType")
        if name == "decimal":
            return pa.decimal128(definition["precision"], definition.get("scale", 0))
        return _LOGICAL.get(str(name))


def _refused(what: str, definition: Any) -> ConfigurationError:
    return ConfigurationError(
        what,
        where="AvroParquetWriters",
        got=str(definition),
        todo="use a record of plain types, arrays, maps, records, and unions of one with null",
    )
