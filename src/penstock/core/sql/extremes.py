"""Values in order with their counts: MIN and MAX that can take back, and percentiles."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any


def add(counts: dict[Any, int], ordered: list[Any], value: Any, count: int = 1) -> None:
    """Add a value."""
    before = counts.get(value, 0)
    after = before + count
    if after:
        counts[value] = after
    elif before:
        del counts[value]
    # Only values that are there are in the list; a negative count waits for its value.
    if after > 0 >= before:
        insort(ordered, value)
    elif before > 0 >= after:
        del ordered[bisect_left(ordered, value)]


def remove(counts: dict[Any, int], ordered: list[Any], value: Any) -> None:
    """Take a value back."""
    add(counts, ordered, value, -1)


def merge(counts: dict[Any, int], ordered: list[Any], other: dict[Any, int]) -> None:
    """Add all values of another."""
    for value, count in other.items():
        add(counts, ordered, value, count)


def add_weighted(
    counts: dict[Any, int], ordered: list[Any], value: Any, share: Any, weight: int = 1
) -> None:
    """Add a value some times over; not at all if the weight is not positive."""
    if weight > 0:
        add(counts, ordered, float(value), weight)


def remove_weighted(
    counts: dict[Any, int], ordered: list[Any], value: Any, share: Any, weight: int = 1
) -> None:
    """Take a value back some times over."""
    if weight > 0:
        add(counts, ordered, float(value), -weight)


def percentile(
    counts: dict[float, int], ordered: list[float], shares: float | Sequence[float] | None
) -> float | list[float] | None:
    """Return the exact percentile, interpolated between neighbours; a list for a list."""
    if not ordered or shares is None:
        return None
    if isinstance(shares, list | tuple):
        found = [_percentile(counts, ordered, share) for share in shares]
        return found or None
    return _percentile(counts, ordered, float(shares))  # type: ignore[arg-type]


def _percentile(counts: dict[float, int], ordered: list[float], share: float) -> float:
    position = float(share) * (sum(counts[value] for value in ordered) - 1)
    low = int(position)
    fraction = position - low
    below = _at(counts, ordered, low)
    if not fraction:
        return below
    above = _at(counts, ordered, low + 1)
    return below if below == above else (1 - fraction) * below + fraction * above


def _at(counts: dict[float, int], ordered: list[float], index: int) -> float:
    for value in ordered:
        index -= counts[value]
        if index < 0:
            return value
    return ordered[-1]
