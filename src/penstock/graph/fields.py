"""Read and replace a field of a record by position or name, whatever kind of record it is.

Tuples, named tuples, lists, Row, dicts, dataclasses and plain objects have fields. Any other value
(a number, a string) has a single one, at position 0, which is the value itself.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from penstock.common import Row
from penstock.errors import FieldError, show_value

Field = int | str

_TUPLE_FIELD = re.compile(r"f(\d+)")
_REASONS = (LookupError, AttributeError, TypeError, ValueError)


def get_field(record: Any, field: Field) -> Any:
    """Return one field of a record.

    :param field: a position; a name; or names joined by dots, for a field inside a field.
        Fields of tuples and lists are also called `f0`, `f1` ...
    :raises FieldError: if the record has no such field.
    """
    try:
        if type(field) is int and isinstance(record, (tuple, list)):
            return record[field]
        if _is_path(record, field):
            outer, inner = str(field).split(".", 1)
            return get_field(get_field(record, outer), inner)
        if isinstance(record, (tuple, list)):
            return record[_position(record, field)]
        if isinstance(record, (Row, dict)):
            return record[field]
        if _is_object(record):
            return getattr(record, _attribute(record, field))
        _check_whole(field)
        return record
    except _REASONS as error:
        raise _no_such_field(record, field) from error


def replace_field(record: Any, field: Field, value: Any) -> Any:
    """Return a copy of `record` with one field changed; the record itself stays as it is.

    :raises FieldError: if the record has no such field.
    """
    try:
        if type(record) is tuple and type(field) is int and 0 <= field < len(record):
            return (*record[:field], value, *record[field + 1 :])
        if _is_path(record, field):
            outer, inner = str(field).split(".", 1)
            return replace_field(
                record, outer, replace_field(get_field(record, outer), inner, value)
            )
        if isinstance(record, tuple):
            position = _position(record, field)
            changed = (*record[:position], value, *record[position + 1 :])
            return type(record)._make(changed) if hasattr(record, "_make") else changed
        if isinstance(record, (list, Row, dict)):
            result: Any = copy.copy(record)
            result[_position(record, field) if isinstance(record, list) else field] = value
            return result
        if _is_object(record):
            result = copy.copy(record)
            # Right for a frozen dataclass too: nobody else has seen this copy yet.
            object.__setattr__(result, _attribute(record, field), value)
            return result
        _check_whole(field)
        return value
    except _REASONS as error:
        raise _no_such_field(record, field) from error


@dataclass(frozen=True)
class FieldKey:
    """Select a key by fields: the field itself if it is one, a tuple of them otherwise."""

    fields: tuple[Field, ...]

    def __call__(self, record: Any) -> Any:
        if len(self.fields) == 1:
            return get_field(record, self.fields[0])
        return tuple(get_field(record, field) for field in self.fields)


@dataclass(frozen=True)
class Projection:
    """Keep some fields of a record, in the given order, as a tuple."""

    fields: tuple[Field, ...]

    def __call__(self, record: Any) -> tuple[Any, ...]:
        return tuple(get_field(record, field) for field in self.fields)


def _is_path(record: Any, field: Field) -> bool:
    if not isinstance(field, str) or "." not in field:
        return False
    return not (isinstance(record, (dict, Row)) and field in record)


def _position(record: tuple[Any, ...] | list[Any], field: Field) -> int:
    if isinstance(field, int):
        return range(len(record))[field]  # counts from the end too, and refuses what is outside
    names = getattr(record, "_fields", ())
    if field in names:
        return int(names.index(field))
    match = _TUPLE_FIELD.fullmatch(field)
    if match is None:
        raise KeyError(field)
    return _position(record, int(match.group(1)))


def _is_object(record: Any) -> bool:
    return dataclasses.is_dataclass(record) or (
        hasattr(record, "__dict__") and not isinstance(record, type)
    )


def _attribute(record: Any, field: Field) -> str:
    if isinstance(field, str):
        getattr(record, field)
        return field
    if dataclasses.is_dataclass(record):
        return dataclasses.fields(record)[field].name
    return list(vars(record))[field]


def _check_whole(field: Field) -> None:
    if field != 0:
        raise IndexError(field)


def _no_such_field(record: Any, field: Field) -> FieldError:
    return FieldError(
        f"the record has no field {field!r}",
        got=f"{type(record).__name__} {show_value(record)}",
        todo=advice(names_of(record), field),
    )


def names_of(record: Any) -> list[Field]:
    """Return the fields that a record has: names if it has any, else positions."""
    if isinstance(record, Row):
        names: Any = record.get_field_names() or range(len(record))
    elif isinstance(record, dict):
        names = record
    elif isinstance(record, (tuple, list)):
        names = getattr(record, "_fields", range(len(record)))
    elif _is_object(record):
        names = vars(record)
    else:
        names = (0,)
    return list(names)


def advice(known: list[Field], field: Field) -> str:
    """Say which field may have been meant."""
    names = [name for name in known if isinstance(name, str)]
    near = get_close_matches(field, names, n=1) if isinstance(field, str) else []
    meant = f"did you mean {near[0]!r}? " if near else ""
    return f"{meant}the fields are {', '.join(map(repr, known)) or 'none'}"
