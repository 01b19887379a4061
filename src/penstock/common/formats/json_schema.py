"""JSON schemas as types of rows, by the rules of Flink's converter."""

from __future__ import annotations

import json
from typing import Any

from penstock.common.typeinfo import RowTypeInfo, TypeInformation, Types
from penstock.errors import ConfigurationError, show_value

_FORMATS = {
    "date-time": Types.SQL_TIMESTAMP,
    "date": Types.SQL_DATE,
    "time": Types.SQL_TIME,
}


def type_of_json_schema(json_schema: str) -> RowTypeInfo:
    """Return the type of rows that a JSON schema describes.

    Numbers of all kinds are decimals, since a schema does not bound them.

    :raises ConfigurationError: if the text is no schema, or says what rows cannot hold.

    >>> type_of_json_schema('{"type": "object", "properties": {"n": {"type": "number"}}}')
    RowTypeInfo(n: BigDecimal)
    """
    try:
        root = json.loads(json_schema)
        found = _convert(root, root, "<root>", ())
        if not isinstance(found, RowTypeInfo):
            raise ValueError("<root>: it does not describe an object")
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ConfigurationError(
            "this JSON schema does not describe rows",
            where="JsonRowDeserializationSchema.builder().json_schema()",
            got=f"{show_value(json_schema, 200)} ({type(error).__name__}: {error})",
            todo="correct the schema, or call type_info() instead",
        ) from None
    return found


def _convert(node: Any, root: Any, place: str, seen: tuple[str, ...]) -> TypeInformation:
    if "$ref" in node:
        reference = node["$ref"]
        if reference in seen:
            raise ValueError(f"{place}: {reference} refers to itself")
        return _convert(_resolve(reference, root, place), root, place, (*seen, reference))
    if "oneOf" in node:
        return _one_of(node["oneOf"], root, place, seen)
    kinds = node.get("type")
    if kinds is None:
        raise ValueError(f"{place}: it says no type")
    if isinstance(kinds, list):
        named = [kind for kind in kinds if kind != "null"]
        if len(named) != 1:
            raise ValueError(f"{place}: a field has one type, besides null")
        kinds = named[0]
    if kinds == "object":
        return _object(node, root, place, seen)
    if kinds == "array":
        return _array(node, root, place, seen)
    if kinds == "string":
        if node.get("contentEncoding") == "base64":
            return Types.PRIMITIVE_ARRAY(Types.BYTE())
        return _FORMATS.get(node.get("format", ""), Types.STRING)()
    if kinds in ("number", "integer"):
        return Types.BIG_DEC()
    if kinds == "boolean":
        return Types.BOOLEAN()
    raise ValueError(f"{place}: there is no type {kinds!r}")


def _resolve(reference: str, root: Any, place: str) -> Any:
    if not reference.startswith("#"):
        raise ValueError(f"{place}: {reference} lies outside of the schema")
    node = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        node = node[step] if step else node
    return node


def _one_of(choices: Any, root: Any, place: str, seen: tuple[str, ...]) -> TypeInformation:
    named = [choice for choice in choices if choice.get("type") != "null"]
    if len(named) != 1:
        raise ValueError(f"{place}: a field has one type, besides null")
    return _convert(named[0], root, place, seen)


def _object(node: Any, root: Any, place: str, seen: tuple[str, ...]) -> TypeInformation:
    fields = node.get("properties") or {}
    types = [_convert(each, root, f"{place}/{name}", seen) for name, each in fields.items()]
    return Types.ROW_NAMED(list(fields), types)


def _array(node: Any, root: Any, place: str, seen: tuple[str, ...]) -> TypeInformation:
    items = node.get("items")
    if isinstance(items, dict):
        return Types.OBJECT_ARRAY(_convert(items, root, f"{place}/items", seen))
    raise ValueError(f"{place}: the items of an array need one type")
