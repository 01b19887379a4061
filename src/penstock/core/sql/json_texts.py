"""JSON as text: reading, writing, and the functions that look into it."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.core.sql import json_paths
from penstock.core.sql.casts import double_text
from penstock.errors import EvaluationError

#: How to write a value: None (a scalar), ("row", names, shapes), ("array", shape), ("map", shape).
Shape = Any


class Raw(str):
    """A text that is JSON already."""

    __slots__ = ()


def load(text: str) -> Any:
    """Read JSON.

    :raises ValueError: if it is not valid.
    """
    # Fractions are kept as they are written.
    return json.loads(text, strict=False, parse_constant=_refuse, parse_float=Decimal)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def dump(value: Any, shape: Shape = None) -> str:
    """Write a value as JSON, without spaces."""
    if value is None:
        return "null"
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        # As a number of Java's exact kind shows it: 1.0E+10.
        return str(Decimal(double_text(value)))
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, bytes):
        return f'"{base64.b64encode(value).decode("ascii")}"'
    return _dump_other(value, shape)


def _dump_other(value: Any, shape: Shape) -> str:
    if shape is not None and shape[0] == "row":
        pairs = zip(shape[1], value, shape[2], strict=True)
        return "{" + ",".join(f"{dump(n)}:{dump(v, s)}" for n, v, s in pairs) + "}"
    inner = None if shape is None else shape[1]
    if isinstance(value, dict):
        entries = (f"{dump(str(k))}:{dump(v, inner)}" for k, v in value.items())
        return "{" + ",".join(entries) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(dump(v, inner) for v in value) + "]"
    if isinstance(value, datetime.datetime):
        zone = "" if value.tzinfo is None else "Z"
        text = value.replace(tzinfo=None).isoformat()
        return f'"{text.rstrip("0") if "." in text else text}{zone}"'
    if isinstance(value, datetime.date | datetime.time):
        return f'"{value.isoformat()}"'
    return dump(str(value))


def is_json(text: str | None, kind: str) -> bool:
    """Return whether a text is JSON of a kind. NULLs are seen."""
    if text is None:
        return False
    try:
        value = load(text)
    except ValueError:
        return False
    if kind == "VALUE":
        return True
    found = (
        "OBJECT" if isinstance(value, dict) else "ARRAY" if isinstance(value, list) else "SCALAR"
    )
    return found == kind


def exists(text: str, path: str, on_error: str = "FALSE") -> bool | None:
    """Return whether a path finds something."""
    try:
        parsed = json_paths.parse(path)
        found = parsed.find(load(text))
        return found not in ([], [None]) if parsed.definite else True
    except ValueError as error:
        if on_error == "ERROR":
            raise EvaluationError(f"JSON_EXISTS: {error}", got=text) from None
        return {"TRUE": True, "FALSE": False, "UNKNOWN": None}[on_error]


class _Empty(Exception):
    """The path found nothing, which is no error."""


def _found(text: str, path: str) -> tuple[Any, json_paths.Path]:
    parsed = json_paths.parse(path)
    values = parsed.find(load(text))
    if not parsed.definite:
        return values, parsed
    if not values:
        raise _Empty
    return values[0], parsed


def value(
    text: str,
    path: str,
    convert: Callable[[Any], Any],
    on_empty: tuple[str, Any] = ("NULL", None),
    on_error: tuple[str, Any] = ("NULL", None),
) -> Any:
    """Return the scalar that a path finds, converted to a type."""
    try:
        found, parsed = _found(text, path)
        if isinstance(found, dict | list):
            if not parsed.strict:
                raise _Empty
            raise ValueError("strict mode requires a scalar value")
        if found is None:
            raise _Empty
        return convert(found)
    except _Empty:
        if on_empty[0] == "ERROR":
            raise EvaluationError("JSON_VALUE found nothing", got=text) from None
        return on_empty[1]
    except (ValueError, TypeError, ArithmeticError) as error:
        if on_error[0] == "ERROR":
            raise EvaluationError(f"JSON_VALUE: {error}", got=text) from None
        return on_error[1]


def as_text(found: Any) -> str:
    """Return a JSON scalar as a text."""
    return found if isinstance(found, str) else dump(found)


def as_boolean(found: Any) -> bool:
    """Return a JSON scalar as a BOOLEAN."""
    if isinstance(found, bool):
        return found
    if str(found).lower() in ("true", "false"):
        return str(found).lower() == "true"
    raise ValueError(f"{found} is no BOOLEAN")


def as_integer(found: Any) -> int:
    """Return a JSON scalar as a whole number."""
    if isinstance(found, bool):
        raise ValueError("a BOOLEAN is no number")
    return int(found)


def as_double(found: Any) -> float:
    """Return a JSON scalar as a DOUBLE."""
    if isinstance(found, bool):
        raise ValueError("a BOOLEAN is no number")
    return float(found)


def query(
    text: str,
    path: str,
    wrapper: str = "WITHOUT",
    on_empty: str = "NULL",
    on_error: str = "NULL",
    as_array: bool = False,
) -> Any:
    """Return the JSON that a path finds, as a text or an array of texts."""
    try:
        found = _wrapped(*_found(text, path), wrapper)
    except _Empty:
        return _instead(on_empty, as_array, "JSON_QUERY found nothing", text)
    except ValueError as error:
        return _instead(on_error, as_array, f"JSON_QUERY: {error}", text)
    if not as_array:
        return dump(found)
    if not isinstance(found, list):
        return _instead(on_error, as_array, "JSON_QUERY: the value is no array", text)
    return [None if item is None else as_text(item) for item in found]


def _wrapped(found: Any, parsed: json_paths.Path, wrapper: str) -> Any:
    if wrapper == "UNCONDITIONAL":
        return [found]
    if wrapper == "CONDITIONAL":
        return found if isinstance(found, list) else [found]
    if isinstance(found, dict | list):
        return found
    if found is None or not parsed.strict:
        raise _Empty
    raise ValueError("strict mode requires an array or an object")


def _instead(behaviour: str, as_array: bool, what: str, text: str) -> Any:
    if behaviour == "ERROR":
        raise EvaluationError(what, got=text)
    if behaviour == "EMPTY ARRAY":
        return [] if as_array else "[]"
    return "{}" if behaviour == "EMPTY OBJECT" else None


def object_text(absent: bool, shapes: tuple[Shape, ...], *pairs: Any) -> str:
    """Write an object of alternating keys and values. NULLs are seen."""
    entries = [
        f"{dump(key)}:{dump(item, shape)}"
        for key, item, shape in zip(pairs[::2], pairs[1::2], shapes, strict=True)
        if item is not None or not absent
    ]
    return "{" + ",".join(entries) + "}"


def array_text(absent: bool, shapes: tuple[Shape, ...], *items: Any) -> str:
    """Write an array. NULLs are seen."""
    pairs = zip(items, shapes, strict=True)
    return "[" + ",".join(dump(v, s) for v, s in pairs if v is not None or not absent) + "]"


def raw(text: str | None) -> str | None:
    """Return a text that is put into JSON as it is."""
    return None if text is None else Raw(text)


def checked(text: str) -> str:
    """Return a text as JSON, or fail if it is none: the function JSON."""
    try:
        return Raw(dump(load(text)))
    except ValueError:
        raise EvaluationError("JSON takes a text that is JSON", got=text) from None


# --- aggregates: items are kept as written JSON ---------------------------------------------------


def item(given: Any) -> str | None:
    """Return a value as kept by JSON_ARRAYAGG: written, or None for NULL."""
    return None if given is None else dump(given)


def add_member(members: dict[str, str | None], key: str, given: Any) -> None:
    """Add a member to an object."""
    if key in members:
        raise EvaluationError("JSON_OBJECTAGG takes each key once", got=repr(key))
    members[key] = item(given)


def remove_member(members: dict[str, str | None], key: str) -> None:
    """Take a member back."""
    members.pop(key, None)


def object_of(members: dict[str, str | None], clause: str | None) -> str:
    """Write an object of members."""
    absent = bool(clause) and "ABSENT" in str(clause)
    kept = (f"{dump(k)}:{'null' if v is None else v}" for k, v in members.items()
            if v is not None or not absent)  # fmt: skip
    return "{" + ",".join(kept) + "}"


def array_of(items: list[str | None], clause: str | None) -> str:
    """Write an array of items; NULLs are left out unless said."""
    absent = "NULL ON NULL" not in str(clause) or "ABSENT" in str(clause)
    kept = ("null" if v is None else v for v in items if v is not None or not absent)
    return "[" + ",".join(kept) + "]"


# --- variants ------------------------------------------------------------------------------------


def parse_variant(text: str) -> Any:
    """Read JSON into a variant."""
    try:
        return load(text)
    except ValueError as error:
        raise EvaluationError(f"PARSE_JSON: {error}", got=text) from None


def try_parse_variant(text: str) -> Any:
    """Read JSON into a variant; NULL if it is not valid."""
    try:
        return load(text)
    except ValueError:
        return None


def variant_item(variant: Any, key: Any) -> Any:
    """Return a member of an object, or an element of an array by its number from 1."""
    if isinstance(variant, dict):
        return variant.get(key)
    if isinstance(variant, list) and isinstance(key, int) and 1 <= key <= len(variant):
        return variant[key - 1]
    return None


def variant_text(variant: Any) -> str:
    """Write a variant as JSON."""
    return dump(variant)
