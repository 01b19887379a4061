"""What a batch has to do besides reading: timers that are due, splits that have ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.core.io import Position, SplitRange
from penstock.runtime.report import SubtaskId


def due_timers(timers: Mapping[SubtaskId, int], now: int) -> dict[str, int]:
    """Return the processing-time timers that are due, by "task/subtask"."""
    return {f"{task}/{i}": at for (task, i), at in sorted(timers.items()) if at <= now}


def live_splits(position: Position, subtask: int) -> tuple[str, ...]:
    """Return the splits that a subtask has and that may still give records."""
    return tuple(
        split
        for split, entry in position["splits"].items()
        if entry["subtask"] == subtask and not entry["done"]
    )


def are_idle(position: Position, splits: Iterable[str]) -> bool:
    """Tell whether the source has declared all of some splits idle."""
    entries = [position["splits"][split] for split in splits]
    return bool(entries) and all(entry.get("idle") for entry in entries)


def mark_last(ranges: Iterable[SplitRange], live: Iterable[str]) -> list[SplitRange]:
    """Mark the ranges with which a split ends."""
    going_on = set(live)
    return [part if part.split in going_on else replace(part, last=True) for part in ranges]
