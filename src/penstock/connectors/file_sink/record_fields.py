"""The fields of a record in the order of a schema, whichever kind of record it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.types import Row
from penstock.errors import SinkError, show_value


def field_reader(names: Sequence[str]) -> Callable[[Any], list[Any]]:
    """Return a function that gives a record's values in the order of the names.

    A `Row` with those names, a dict or a dataclass is read by name; a tuple, list or other `Row`
    by position. A dict may lack fields: they are None.

    :raises SinkError: from the function, for a record that has other fields.

    >>> field_reader(["id", "name"])({"name": "a", "id": 7})
    [7, 'a']
    """
    wanted = list(names)

    def read(record: Any) -> list[Any]:
        if isinstance(record, dict):
            if record.keys() <= set(wanted):
                return [record.get(name) for name in wanted]
        elif isinstance(record, Row):
            given = record.get_field_names()
            if given is not None and set(given) == set(wanted):
                return record.get_fields_by_names(wanted)
            if len(record) == len(wanted):
                return list(record)
        elif isinstance(record, tuple | list):
            if len(record) == len(wanted):
                return list(record)
        elif dataclasses.is_dataclass(record) and all(hasattr(record, name) for name in wanted):
            return [getattr(record, name) for name in wanted]
        raise SinkError(
            "a record has other fields than the file's columns",
            got=f"{show_value(record)} for columns {', '.join(wanted)}",
            todo="map the stream to rows with these fields before the sink",
        )

    return read
