"""Integers that Spark's hash partitioning sends to a chosen partition.

Spark places a group at `pmod(murmur3(key), partitions)`. A slot must have a partition of its own,
so its grouping key is not its index but the smallest integer that Spark places there.
"""

from __future__ import annotations

from itertools import count

_MASK = 0xFFFFFFFF
_SEED = 42


def surrogates(slots: int) -> tuple[int, ...]:
    """Return the grouping key of each slot, in slot order."""
    found: dict[int, int] = {}
    for number in count():
        found.setdefault(spark_hash(number) % slots, number)
        if len(found) == slots:
            return tuple(found[slot] for slot in range(slots))
    raise AssertionError  # count() does not end


def spark_hash(number: int) -> int:
    """Return Spark's `hash` of an INT: murmur3 for 32 bits, as a signed number."""
    block = _scramble(number & _MASK)
    mixed = _rotate(_SEED ^ block, 13)
    mixed = (mixed * 5 + 0xE6546B64) & _MASK
    mixed ^= 4  # length in bytes
    mixed = ((mixed ^ (mixed >> 16)) * 0x85EBCA6B) & _MASK
    mixed = ((mixed ^ (mixed >> 13)) * 0xC2B2AE35) & _MASK
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _scramble(block: int) -> int:
    return (_rotate((block * 0xCC9E2D51) & _MASK, 15) * 0x1B873593) & _MASK


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK
