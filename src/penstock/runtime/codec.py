"""How Python objects become bytes and stay what they were when they were handed over.

A record that has been emitted, or a value that has been put into state, must not change when the
user's code goes on changing the object. Copying everything would be slow, so values that cannot
change (numbers, strings, tuples of them ...) are kept as they are, and only the others are
*frozen*: pickled on the spot. Pickling is by reference to the class, at C speed.
"""

from __future__ import annotations

import pickle
from array import array
from typing import Any

from penstock.core.pickling import ATOMIC, PROTOCOL, dumps, is_immutable, loads

__all__ = [
    "ATOMIC",
    "HELD",
    "PROTOCOL",
    "Frozen",
    "copied",
    "detach",
    "dumps",
    "freeze",
    "handed_out",
    "is_immutable",
    "loads",
    "pack_times",
    "thaw",
    "unpack_times",
]


class Frozen:
    """A value as bytes."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def thaw(self) -> Any:
        """Return a fresh copy of the value."""
        return pickle.loads(self.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)

    def __reduce__(self) -> tuple[Any, ...]:
        return Frozen, (self.data,)


def freeze(value: Any) -> Any:
    """Return the value itself if it can never change, else its bytes as of now."""
    kind = type(value)
    if kind in ATOMIC:
        return value
    if kind is tuple:
        for item in value:
            if type(item) not in ATOMIC and not is_immutable(item):
                break
        else:
            return value
    elif is_immutable(value):
        return value
    return Frozen(dumps(value))


def thaw(entry: Any) -> Any:
    """Undo `freeze`."""
    return pickle.loads(entry.data) if type(entry) is Frozen else entry


def copied(value: Any) -> Any:
    """Return the value itself if it can never change, else a copy of its own."""
    entry = freeze(value)
    return value if entry is value else entry.thaw()


#: Types of what `detach` returns that must not be handed out as they are.
HELD = frozenset({Frozen, list, dict, set})


def detach(value: Any) -> Any:
    """Return what state keeps of a value: nothing that the user's code does later changes it.

    A list, dict or set of values that cannot change is copied, which takes a tenth of the time that
    pickling takes. `freeze` it when the batch is over.
    """
    kind = type(value)
    if kind in ATOMIC:
        return value
    if (kind is list or kind is set) and ATOMIC.issuperset(map(type, value)):
        return value.copy()
    if (
        kind is dict
        and ATOMIC.issuperset(map(type, value))
        and ATOMIC.issuperset(map(type, value.values()))
    ):
        return value.copy()
    return freeze(value)


def handed_out(entry: Any) -> Any:
    """Return a value that was detached; if it can change it is the user's own."""
    kind = type(entry)
    if kind is Frozen:
        return pickle.loads(entry.data)
    return entry.copy() if kind in HELD else entry


def pack_times(timestamps: list[Any]) -> Any:
    """Return timestamps in compact form; None if no record has one."""
    try:
        return array("q", timestamps).tobytes()
    except (TypeError, OverflowError):
        return None if timestamps.count(None) == len(timestamps) else timestamps


def unpack_times(packed: Any) -> list[Any] | None:
    """Undo `pack_times`."""
    if isinstance(packed, bytes):
        times = array("q")
        times.frombytes(packed)
        return times.tolist()
    return packed
