"""Versions of matches: Dewey numbers such as 1.0.2.

Matches share the events of their common past in one buffer. The edges between events carry
versions, and a match follows those edges that its own version is compatible with.

A loop adds a digit with each event, and nearly all digits are zero. So a version is a pair: how
many digits there are, and those that are not zero as a flat tuple (position, digit, position, digit
...). It stays short however long the loop is, and adding a digit shares the tuple.
"""

from __future__ import annotations

Version = tuple[int, tuple[int, ...]]

#: The version of the first match of a key.
FIRST: Version = (1, (0, 1))


def run_of(version: Version) -> int:
    """Return the first digit; a version of several digits is compatible with edges of its run only.

    >>> run_of(add_stage(increase(FIRST, 2)))
    3
    """
    return version[1][1]


def increase(version: Version, by: int) -> Version:
    """Return the version with its last digit raised.

    >>> show(increase(FIRST, 2))
    '3'
    """
    if not by:
        return version
    length, digits = version
    if digits and digits[-2] == length - 1:
        return length, (*digits[:-1], digits[-1] + by)
    return length, (*digits, length - 1, by)


def add_stage(version: Version) -> Version:
    """Return the version with a further digit, zero.

    >>> show(add_stage(FIRST))
    '1.0'
    """
    return version[0] + 1, version[1]


def is_compatible(version: Version, edge: Version) -> bool:
    """Tell whether a match of that version may follow an edge.

    It may if the edge's version is the beginning of its own, or differs from it in the last digit
    only and is not above it.
    """
    length, digits = version
    edge_length, edge_digits = edge
    if length > edge_length:
        if digits is edge_digits:
            return True
        count = len(edge_digits)
        return digits[:count] == edge_digits and (
            len(digits) == count or digits[count] >= edge_length
        )
    if length < edge_length:
        return False
    if digits is edge_digits:
        return True
    head, last = _split(length, digits)
    edge_head, edge_last = _split(length, edge_digits)
    return head == edge_head and last >= edge_last


def _split(length: int, digits: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    if digits and digits[-2] == length - 1:
        return digits[:-2], digits[-1]
    return digits, 0


def show(version: Version) -> str:
    """Return a version as it is written on paper."""
    length, digits = version
    all_digits = [0] * length
    for position, digit in zip(digits[::2], digits[1::2], strict=True):
        all_digits[position] = digit
    return ".".join(map(str, all_digits))
