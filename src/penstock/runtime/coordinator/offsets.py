"""The offset of a job: how far it has read, the time, and what else a batch has to do.

An offset is plain JSON, since the engine logs it, and describes itself: whoever reads it knows
what its batch is for, in any process, also after a restart::

    {"sources": {uid: Position},
     "time": processing time of the batch in epoch milliseconds,
     "control": {"ended": {uid: when},
                 "idle": {uid: {"splits": {split: since}, "subtasks": {"operator/subtask": since}}},
                 "timers": {"level/slot": when}}}

`ended` and `idle` hold for the batch and stay until they change; `timers` are those that this
batch fires. An absent part is empty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.core.io import Position

Offset = dict[str, Any]


def make_offset(
    positions: Mapping[str, Position], time: int, control: Mapping[str, Any] | None = None
) -> Offset:
    """Return an offset; empty parts of `control` are left out."""
    parts = {name: part for name, part in (control or {}).items() if part}
    return {"sources": dict(positions), "time": time, "control": parts}


def position_of(offset: Offset, uid: str) -> Position:
    """Return where a source stands."""
    position: Position = offset["sources"][uid]
    return position


def ended_sources(offset: Offset) -> dict[str, int]:
    """Return the sources whose end has been told to a batch, with the time of that batch."""
    return dict(offset["control"].get("ended", {}))


def idle_parts(offset: Offset) -> dict[str, Any]:
    """Return what is idle, by uid of the source."""
    return dict(offset["control"].get("idle", {}))


def subtask_key(operator_id: int, subtask: int) -> str:
    """Return the name under which an operator's subtask stands in an offset."""
    return f"{operator_id}/{subtask}"


def as_json(value: Any) -> Any:
    """Return the value as it reads after a passage through JSON.

    :raises TypeError: if it is no JSON.
    """
    return json.loads(json.dumps(value))
