"""Records as bytes, between the user's process and the workers.

Both sides have the classes of the user's script in `__main__`, so pickling is by name.
"""

from __future__ import annotations

import copy
import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

import cloudpickle

from penstock.errors import SerializationError, show_value

PROTOCOL = 5

_UNCHANGING = frozenset(
    {int, float, bool, str, bytes, complex, type(None), Decimal, dt.datetime, dt.date, dt.time}
)


def dumps(value: Any) -> bytes:
    """Pickle a value; one of a class that cannot be imported by name travels with its class.

    :raises SerializationError: if the value cannot be pickled at all.
    """
    try:
        return pickle.dumps(value, PROTOCOL)
    except Exception:
        try:
            data: bytes = cloudpickle.dumps(value, PROTOCOL)
            return data
        except Exception as error:
            raise SerializationError(
                f"a {type(value).__name__} cannot be pickled, so it cannot be a record",
                got=f"{show_value(value)} ({type(error).__name__}: {error})",
                todo="send plain data: numbers, strings, tuples, dataclasses",
            ) from None


def loads(data: bytes) -> Any:
    """Undo `dumps`."""
    return pickle.loads(data)


def detached(value: Any) -> Any:
    """Return a value that stays as it is now, whatever the user's code does to `value` later.

    :raises SerializationError: if the value would have to be copied and cannot be pickled.
    """
    if is_plain(value):
        return value
    try:
        return pickle.loads(pickle.dumps(value, PROTOCOL))
    except Exception:
        # Its class has no importable name. That it can travel must be found out here, but reading
        # it back would make a second class of that name.
        dumps(value)
        return copy.deepcopy(value)


def is_plain(value: Any) -> bool:
    """Tell whether a value is of a basic type that cannot change, or a flat tuple of such."""
    kind = type(value)
    if kind is tuple:
        return _UNCHANGING.issuperset(map(type, value))
    return kind in _UNCHANGING
