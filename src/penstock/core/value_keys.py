"""Keys without a hash: a list, dict, set or a plain dataclass is a key by its value.

State is kept in dictionaries, which need a hash. Such a key is wrapped once, by the sender, and
unwrapped where the user sees it.
"""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

from penstock.common.types import Row


class ValueKey:
    """A key that is hashed and compared by its value.

    >>> ValueKey([1, {"a": 2}]) == ValueKey([1, {"a": 2}]), ValueKey([1]) == ValueKey((1,))
    (True, False)
    """

    __slots__ = ("_hash", "token", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        #: The same value in parts that have a hash.
        self.token = _token_of(value)
        self._hash = hash(self.token)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValueKey) and self.token == other.token

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return ValueKey, (self.value,)

    def __repr__(self) -> str:
        return repr(self.value)


def wrapped(key: Any) -> Any:
    """Return a key as state knows it.

    :raises TypeError: if the key has a hash that fails, or cannot be pickled.
    """
    try:
        hash(key)
    except TypeError:
        return ValueKey(key)
    return key


def unwrapped(key: Any) -> Any:
    """Return a key as the user knows it."""
    return key.value if type(key) is ValueKey else key


def _token_of(value: Any) -> Any:
    try:
        hash(value)
    except TypeError as error:
        return _parts_of(value, error)
    return value


def _parts_of(value: Any, error: TypeError) -> Any:
    kind = type(value)
    if isinstance(value, (list, tuple)):
        return kind.__name__, tuple(map(_token_of, value))
    if isinstance(value, dict):
        return kind.__name__, frozenset((key, _token_of(item)) for key, item in value.items())
    if isinstance(value, (set, bytearray)):
        return kind.__name__, (frozenset if isinstance(value, set) else bytes)(value)
    if isinstance(value, Row):
        about = value.get_row_kind().name, tuple(value.get_field_names() or ())
        return kind.__name__, about, tuple(map(_token_of, value))
    if dataclasses.is_dataclass(value):
        held = [getattr(value, f.name) for f in dataclasses.fields(value) if f.compare]
        tokens = tuple(map(_token_of, held))
        if kind.__hash__ is not None and all(a is b for a, b in zip(held, tokens, strict=True)):
            raise error  # not because of its fields
        return kind.__qualname__, tokens
    if kind.__hash__ is None:
        return kind.__qualname__, pickle.dumps(value)
    raise error
