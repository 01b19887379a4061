"""Numbers of many subtasks or checkpoints in one: least, largest, mean, percentiles."""

from __future__ import annotations

import math
from collections.abc import Sequence

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lies; of no values, not a number."""
    if not ordered:
        return math.nan
    place = share * (len(ordered) + 1)
    if place < 1:
        return ordered[0]
    if place >= len(ordered):
        return ordered[-1]
    below = ordered[int(place) - 1]
    return below + (place - int(place)) * (ordered[int(place)] - below)


def summary(values: Sequence[float]) -> dict[str, float | str]:
    """Return what Flink tells of a number that all checkpoints have."""
    ordered = sorted(values)
    told: dict[str, float | str] = {
        "min": int(ordered[0]) if ordered else 0,
        "max": int(ordered[-1]) if ordered else 0,
        "avg": int(sum(ordered) / len(ordered)) if ordered else 0,
    }
    for name, share in _QUANTILES.items():
        told[name] = number_or_text(percentile([float(value) for value in ordered], share))
    return told


def spread(values: Sequence[float]) -> dict[str, int]:
    """Return what Flink tells of a number that all subtasks have."""
    ordered = sorted(values) or [0]
    return {
        "min": int(ordered[0]),
        "max": int(ordered[-1]),
        "avg": int(sum(ordered) / len(ordered)),
        "sum": int(sum(ordered)),
        "median": int(percentile(ordered, 0.5)),
        "p25": int(percentile(ordered, 0.25)),
        "p75": int(percentile(ordered, 0.75)),
        "p95": int(percentile(ordered, 0.95)),
    }


def skew(values: Sequence[float]) -> float:
    """Return by how many percent values differ from their mean, as Flink counts it."""
    if not values:
        return 0.0
    mean = sum(values) / len(values)
    if mean == 0 or len(values) == 1:
        return 0.0
    off = sum(abs(value - mean) for value in values) / len(values)
    return min(off / mean, 1.0) * 100


def number_or_text(value: float) -> float | str:
    """Return a number, or its name where JSON has no number for it."""
    return value if math.isfinite(value) else "NaN"
