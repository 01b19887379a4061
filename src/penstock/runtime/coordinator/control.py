"""What a batch may have to do besides reading: fire timers, and tell who has gone idle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.core.io import Position
from penstock.graph.plan import ExecutionPlan, PlanOperator
from penstock.graph.specs import SourceSpec, TimestampsSpec
from penstock.runtime.coordinator.offsets import (
    Offset,
    ended_sources,
    idle_parts,
    subtask_key,
)

Idle = dict[str, dict[str, dict[str, int]]]


def due_timers(timers: Mapping[tuple[int, int], int], now: int) -> dict[str, int]:
    """Return the processing-time timers that are due, by "level/slot"."""
    return {f"{level}/{slot}": at for (level, slot), at in sorted(timers.items()) if at <= now}


def live_splits(position: Position, subtask: int) -> tuple[str, ...]:
    """Return the splits that a subtask has and that may still give records."""
    return tuple(
        split
        for split, entry in position["splits"].items()
        if entry.get("subtask", 0) == subtask and not entry.get("done")
    )


@dataclass(frozen=True)
class _Watched:
    """Idle timeouts, in milliseconds, of the operators of one source that make watermarks."""

    source: PlanOperator
    split_timeout: int | None
    #: Operators that make watermarks for the subtask as a whole, chained to the source.
    assigners: tuple[tuple[int, int], ...]


class IdleTracker:
    """Tell which splits and subtasks have had nothing new for their idle timeout.

    A source with an idle timeout is watched by split, an operator behind it that assigns
    timestamps and watermarks by subtask. Times of activity are kept in memory only: after a
    restart the timeouts begin anew, but who was idle stays idle.
    """

    def __init__(self, plan: ExecutionPlan) -> None:
        watched = (_watched(plan, source) for source in plan.sources())
        self._watched = [w for w in watched if w.split_timeout is not None or w.assigners]
        self._active: dict[tuple[str, str], int] = {}

    def restore(self, offset: Offset) -> None:
        """Take over who is idle, and since when."""
        for uid, parts in idle_parts(offset).items():
            for kind in ("splits", "subtasks"):
                for name, since in parts.get(kind, {}).items():
                    self._active[uid, f"{kind}:{name}"] = since

    def idle(self, start: Offset, positions: Mapping[str, Position], now: int) -> Idle:
        """Return who is idle at the end of a batch that leads from `start` to `positions`."""
        ended = ended_sources(start)
        found: Idle = {}
        for watched in self._watched:
            uid = watched.source.uid
            position = positions[uid]
            if uid in ended or position.get("done"):
                continue
            moved = _moved(start["sources"].get(uid), position)
            parts = {
                "splits": self._idle_splits(watched, position, moved, now),
                "subtasks": self._idle_subtasks(watched, position, moved, now),
            }
            parts = {kind: idle for kind, idle in parts.items() if idle}
            if parts:
                found[uid] = parts
        return found

    def _idle_splits(
        self, watched: _Watched, position: Position, moved: set[str], now: int
    ) -> dict[str, int]:
        timeout = watched.split_timeout
        if timeout is None:
            return {}
        uid = watched.source.uid
        idle = {}
        for split, entry in position["splits"].items():
            name = f"splits:{split}"
            if entry.get("done"):
                self._active.pop((uid, name), None)
                continue
            since = self._seen(uid, name, split in moved, now)
            if now - since >= timeout:
                idle[split] = since
        return idle

    def _idle_subtasks(
        self, watched: _Watched, position: Position, moved: set[str], now: int
    ) -> dict[str, int]:
        uid = watched.source.uid
        timeouts = list(watched.assigners)
        if watched.split_timeout is not None:
            timeouts.append((watched.source.id, watched.split_timeout))
        busy = {position["splits"][split].get("subtask", 0) for split in moved}
        idle = {}
        for operator_id, timeout in timeouts:
            for subtask in range(watched.source.parallelism):
                name = subtask_key(operator_id, subtask)
                since = self._seen(uid, f"subtasks:{name}", subtask in busy, now)
                if now - since >= timeout:
                    idle[name] = since
        return idle

    def _seen(self, uid: str, name: str, active: bool, now: int) -> int:
        """Return when this part was last active; the first look at it counts as such."""
        place = (uid, name)
        if active:
            self._active[place] = now
        return self._active.setdefault(place, now)


def newly_idle(before: Mapping[str, Any], after: Idle) -> bool:
    """Tell whether somebody is idle after a batch who was not before it."""
    return any(
        name not in before.get(uid, {}).get(kind, {})
        for uid, parts in after.items()
        for kind, idle in parts.items()
        for name in idle
    )


def _moved(start: Position | None, end: Position) -> set[str]:
    before = start["splits"] if start else {}
    return {
        split
        for split, entry in end["splits"].items()
        if split not in before or before[split].get("at") != entry.get("at")
    }


def _watched(plan: ExecutionPlan, source: PlanOperator) -> _Watched:
    assert isinstance(source.spec, SourceSpec)
    assigners = []
    for operator in plan.operators:
        if operator.origin == source.id and isinstance(operator.spec, TimestampsSpec):
            timeout = _timeout(operator.spec.strategy)
            if operator.level == 0 and timeout is not None:
                assigners.append((operator.id, timeout))
    return _Watched(source, _timeout(source.spec.strategy), tuple(assigners))


def _timeout(strategy: Any) -> int | None:
    return None if strategy is None else strategy.idle_timeout_ms
