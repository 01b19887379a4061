"""Keys of state as bytes: equal keys give equal bytes, whatever their types.

Pickled bytes would not do: 1, 1.0 and True are one key, and two equal tuples may be pickled
differently. For numbers that are whole, strings, bytes and tuples of these the bytes have the value
and stand for one key only. The bytes of all other keys are their hash, so that several may share
them: whoever stores them keeps the key too.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from struct import Struct
from typing import Any

from penstock.core.key_groups import stable_hash

_HASH = Struct(">I").pack
_NUMBERS = (int, float, complex, Decimal, Fraction)
#: Times may be negative: their order must be that of their bytes.
_BIAS = 1 << 63
_TIME = Struct(">QQ").pack
_ONE_TIME = Struct(">Q").pack


def key_bytes(key: Any) -> bytes:
    """Return the bytes of a storage key.

    >>> key_bytes(1) == key_bytes(1.0) == key_bytes(True)
    True
    >>> key_bytes(("a", 1)) == key_bytes(("a", 2))
    False
    """
    return _value(key) or b"h" + _HASH(stable_hash(key))


def _value(key: Any) -> bytes | None:
    """Return what tells the key from all others, None if only `==` can."""
    kind = type(key)
    if kind is str:
        return b"s" + str.encode(key, "utf-8", "surrogatepass")
    if kind is int:
        return b"i%d" % key
    if kind is tuple or isinstance(key, tuple):
        return _pair(*key) if len(key) == 2 else _items(key)
    if isinstance(key, _NUMBERS):
        return _whole(key)
    if isinstance(key, str):
        return b"s" + str.encode(key, "utf-8", "surrogatepass")
    if isinstance(key, bytes):
        return b"b" + key
    return b"n" if key is None else None


def _pair(first: Any, second: Any) -> bytes | None:
    """Return the bytes of a tuple of two, as most storage keys and timers are."""
    one = b"i%d" % first if type(first) is int else _value(first)
    if one is None:
        return None
    other = b"i%d" % second if type(second) is int else _value(second)
    # The length comes first, so that no two pairs have the same bytes.
    return None if other is None else b"p%d,%b%b" % (len(one), one, other)


def _items(key: tuple[Any, ...]) -> bytes | None:
    parts = [b"t"]
    for item in key:
        part = _value(item)
        if part is None:
            return None
        parts.append(b"%d,%b" % (len(part), part))
    return b"".join(parts)


def _whole(key: Any) -> bytes | None:
    try:
        whole = int(key.real)
    except (ValueError, OverflowError, ArithmeticError):
        return None
    return b"i%d" % whole if whole == key else None


#: What the bytes of keys begin with that several keys may share.
SHARED = ord("h")
#: Where in the bytes of a time and a key those of the key begin.
STAMPED_TAG = 8


def serial_bytes(key: tuple[int, int]) -> bytes:
    """Return a time and a number as bytes that are in the order of both."""
    return _TIME(key[0] + _BIAS, key[1])


def stamped_bytes(key: tuple[int, Any]) -> bytes:
    """Return a time and a key as bytes that are in the order of time."""
    return time_bytes(key[0]) + key_bytes(key[1])


def time_bytes(time: int) -> bytes:
    """Return a time as bytes that are in the order of time."""
    return _ONE_TIME(time + _BIAS)
