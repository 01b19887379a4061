"""From a key to its key group to its slot, the same in every process and on every machine.

Python's own `hash` will not do: for strings it changes from process to process. The hash here
depends on the key's value alone, and keys that are equal by `==` (1, 1.0 and True) hash equal.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import uuid
import zlib
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from penstock.common.types import Row
from penstock.core.pickling import dumps, loads
from penstock.core.value_keys import ValueKey
from penstock.errors import UnstableKeyError, show_value

DEFAULT_MAX_PARALLELISM = 128
_MASK = 0xFFFFFFFF


def default_max_parallelism(parallelism: int) -> int:
    """Return Flink's default: 1.5 times the parallelism, a power of two, from 128 to 32768."""
    wanted = parallelism + parallelism // 2
    return min(max(1 << max(wanted - 1, 0).bit_length(), DEFAULT_MAX_PARALLELISM), 1 << 15)


def slot_of_group(key_group: int, parallelism: int, max_parallelism: int) -> int:
    """Return the subtask that owns a key group, as Flink assigns ranges of groups to subtasks."""
    return key_group * parallelism // max_parallelism


def groups_of_slot(slot: int, parallelism: int, max_parallelism: int) -> range:
    """Return the key groups that a subtask owns."""
    start = (slot * max_parallelism + parallelism - 1) // parallelism
    end = ((slot + 1) * max_parallelism - 1) // parallelism
    return range(start, end + 1)


def key_group(key: Any, max_parallelism: int) -> int:
    """Return the key group of a key.

    :param key: as `value_keys.wrapped` returns it.
    :raises UnstableKeyError: if the key has no hash, or one that differs between processes.
    """
    return _mix(stable_hash(key)) % max_parallelism


def stable_hash(key: Any) -> int:
    """Return a 32-bit hash that depends on the value of the key alone.

    >>> stable_hash(1) == stable_hash(1.0) == stable_hash(True)
    True
    >>> stable_hash("penstock")
    2937512684
    """
    hasher = _HASHERS.get(type(key))
    if hasher is not None:
        return hasher(key)
    for base, base_hasher in _BASES:
        if isinstance(key, base):
            return base_hasher(key)
    return _hash_object(key)


def _mix(value: int) -> int:
    # Murmur3's finalizer: neighbouring hashes must not share a key group's neighbours.
    value = ((value ^ (value >> 16)) * 0x85EBCA6B) & _MASK
    value = ((value ^ (value >> 13)) * 0xC2B2AE35) & _MASK
    return value ^ (value >> 16)


def _hash_number(key: Any) -> int:
    if _is_nan(key):  # not equal to itself: it would be a new key at every record
        raise UnstableKeyError(
            "NaN cannot be a key: it is not equal to itself",
            got=show_value(key),
            todo="filter NaN out, or map it to None, in front of key_by",
        )
    return hash(key) & _MASK  # of a number: made from the value, equal for equal numbers


def _is_nan(key: Any) -> bool:
    try:
        return bool(key != key)
    except ArithmeticError:  # a signalling NaN of Decimal does not even compare
        return True


def _hash_str(key: str) -> int:
    return zlib.crc32(str.encode(key, "utf-8", "surrogatepass"))


def _hash_bytes(key: Any) -> int:
    return zlib.crc32(key, 7)


def _hash_items(key: Any) -> int:
    value = 0x345678
    for item in key:
        value = ((value * 1000003) ^ stable_hash(item)) & _MASK
    return value


def _hash_set(key: Any) -> int:
    value = 0x51ED27
    for item in key:
        value ^= _mix(stable_hash(item))
    return value


def _hash_datetime(key: dt.datetime) -> int:
    if key.tzinfo is not None:  # equal instants in two zones are equal keys
        key = key.astimezone(dt.timezone.utc)
    return _hash_str(key.replace(tzinfo=None, fold=0).isoformat())


def _hash_time(key: dt.time) -> int:
    offset = key.utcoffset()
    if offset is None:
        return _hash_str(key.replace(fold=0).isoformat())
    since = dt.timedelta(hours=key.hour, minutes=key.minute, seconds=key.second)
    return _hash_timedelta(since - offset + dt.timedelta(microseconds=key.microsecond))


def _hash_timedelta(key: dt.timedelta) -> int:
    return _hash_number(key // dt.timedelta(microseconds=1))


def _hash_enum(key: Enum) -> int:
    return _hash_str(f"{type(key).__qualname__}.{key.name}")


def _hash_row(key: Row) -> int:
    return _hash_items(key)


def _hash_object(key: Any) -> int:
    """Hash an instance of a class of the user's own."""
    kind = type(key)
    if kind.__hash__ is None:
        raise UnstableKeyError(
            f"a {kind.__name__} cannot be a key: it has no hash",
            got=show_value(key),
            todo="use a tuple, a string or a number, or declare the class with "
            "@dataclass(frozen=True)",
        )
    by_address: Any = object.__hash__
    if kind.__hash__ is by_address:
        raise UnstableKeyError(
            f"a {kind.__name__} cannot be a key: its hash is its address in memory",
            got=show_value(key),
            todo="declare the class with @dataclass(frozen=True), or define __eq__ and __hash__",
        )
    if dataclasses.is_dataclass(kind) and _has_generated_hash(key):
        fields = [f.name for f in dataclasses.fields(kind) if f.compare]
        return _hash_items([kind.__qualname__, *(getattr(key, name) for name in fields)])
    copy = loads(dumps(key))
    if copy != key or hash(copy) != hash(key):
        raise UnstableKeyError(
            f"a {kind.__name__} cannot be a key: a copy of it is another key",
            got=show_value(key),
            todo="define __eq__ and __hash__ over its values",
        )
    # Workers run with one fixed PYTHONHASHSEED, so a hash made from strings agrees among them.
    return hash(key) & _MASK


def _has_generated_hash(key: Any) -> bool:
    # A dataclass may define __eq__ and __hash__ itself, over less than its fields.
    held = [f for f in dataclasses.fields(key) if (f.compare if f.hash is None else f.hash)]
    try:
        return hash(key) == hash(tuple(getattr(key, f.name) for f in held))
    except TypeError:
        return True  # a field without a hash: it will be named


_HASHERS: dict[type, Callable[[Any], int]] = {
    str: _hash_str,
    int: _hash_number,
    bool: _hash_number,
    float: _hash_number,
    bytes: _hash_bytes,
    tuple: _hash_items,
    type(None): lambda _: 0x6E6F6E65,
    ValueKey: lambda key: stable_hash(key.token),
    Row: _hash_row,
}
_BASES: list[tuple[type | tuple[type, ...], Callable[[Any], int]]] = [
    ((int, float, complex, Decimal, Fraction), _hash_number),
    (str, _hash_str),
    (bytes, _hash_bytes),
    (Enum, _hash_enum),
    (dt.datetime, _hash_datetime),
    (dt.date, lambda key: _hash_number(key.toordinal())),
    (dt.time, _hash_time),
    (dt.timedelta, _hash_timedelta),
    (uuid.UUID, lambda key: _hash_number(key.int)),
    (frozenset, _hash_set),
    (tuple, _hash_items),
    (Row, _hash_row),
]
