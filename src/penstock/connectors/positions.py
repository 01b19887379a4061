"""Make and compare positions, in the form that `penstock.core.io.Position` lays down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.core.io import Position, SplitEntry, SplitRange


def split_entry(at: Any, subtask: int, *, done: bool = False) -> SplitEntry:
    """Return where one split stands and who reads it."""
    return {"at": at, "subtask": subtask, "done": done}


def make_position(splits: Mapping[str, SplitEntry]) -> Position:
    """Return the position of a source that has ended as soon as all its splits have."""
    return {"splits": dict(splits), "done": all(entry["done"] for entry in splits.values())}


def records_between(start: Position, end: Position) -> int:
    """Return how many records lie between two positions whose splits count them."""
    before = {name: entry["at"] for name, entry in start["splits"].items()}
    return sum(entry["at"] - before.get(name, 0) for name, entry in end["splits"].items())


def subtask_of(entry: SplitEntry, index: int, parallelism: int) -> int:
    """Return who reads a split from now on: its reader so far, if there still is such a one.

    :param index: number of the split; deals splits out when the parallelism has become smaller.
    """
    subtask: int = entry["subtask"]
    return subtask if subtask < parallelism else index % parallelism


def by_subtask(
    ranges: Iterable[tuple[SplitEntry, SplitRange]], parallelism: int
) -> list[list[SplitRange]]:
    """Sort ranges by the subtask that the entry of their split names."""
    lists: list[list[SplitRange]] = [[] for _ in range(parallelism)]
    for entry, split_range in ranges:
        lists[entry["subtask"]].append(split_range)
    return lists
