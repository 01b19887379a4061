"""Snapshots as JSON and back."""

from __future__ import annotations

import json
import types
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from penstock.execution.facts.snapshot import JobSnapshot

T = TypeVar("T")


def to_json(snapshot: JobSnapshot) -> dict[str, Any]:
    """Return a snapshot as dicts, lists, text and numbers.

    Lists of numbers are those of the snapshot itself: there are many, and they are its own.
    """
    return _write(snapshot)


def from_json(data: dict[str, Any]) -> JobSnapshot:
    """Undo `to_json`. Fields that are missing get their defaults, unknown ones are left out."""
    return _read(JobSnapshot, data)


def _write(held: Any) -> Any:
    names = getattr(held, "__dataclass_fields__", None)
    if names is not None:
        return {name: _write(getattr(held, name)) for name in names}
    if type(held) is list and held and is_dataclass(held[0]):
        return [_write(item) for item in held]
    return held


def plain(value: Any) -> Any:
    """Return a value as JSON has it; as text if JSON has nothing of the kind.

    >>> plain({"a": (1, 2)}), plain({1, 1}), plain(float("nan"))
    ({'a': [1, 2]}, '{1}', 'nan')
    """
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _read(cls: type[T], data: dict[str, Any]) -> T:
    kind: Any = cls
    hints = _hints(kind)
    return cls(**{name: _value(hints[name], data[name]) for name in hints if name in data})


@lru_cache(maxsize=64)
def _hints(cls: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def _value(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if is_dataclass(hint) and isinstance(hint, type):
        return _read(hint, value)
    arguments = get_args(hint)
    if get_origin(hint) is list and is_dataclass(arguments[0]):
        return [_value(arguments[0], item) for item in value]
    if get_origin(hint) in (Union, types.UnionType):
        return next((_value(a, value) for a in arguments if is_dataclass(a)), value)
    return value
