"""The type of rows that a schema is built with."""

from __future__ import annotations

from penstock.common.typeinfo import RowTypeInfo, TypeInformation
from penstock.errors import ConfigurationError


def checked_row_type(type_info: TypeInformation | None, call: str) -> RowTypeInfo:
    """Return the type of rows that a builder was given.

    :param call: the method that takes it.
    :raises ConfigurationError: if it was given none, or another type.
    """
    if not isinstance(type_info, RowTypeInfo):
        raise ConfigurationError(
            "the type of the rows is needed",
            where=call,
            got=str(type_info),
            todo="pass Types.ROW_NAMED(names, types)",
        )
    return type_info


def holds(type_info: TypeInformation, name: str) -> bool:
    """Return whether a type, or a part of it, has a name."""
    if getattr(type_info, "name", None) == name:
        return True
    inner = getattr(type_info, "field_types", None) or [
        part
        for attribute in ("elem_type", "key_type_info", "value_type_info")
        if (part := getattr(type_info, attribute, None)) is not None
    ]
    return any(holds(part, name) for part in inner)
