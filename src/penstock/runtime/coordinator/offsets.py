"""The offset of a job: how far it has read, the time, and what else a batch has to do.

An offset is plain JSON, since the engine logs it, and describes itself: whoever reads it knows
what its batch is for, in any process, also after a restart::

    {"sources": {uid: Position},
     "time": processing time of the batch in epoch milliseconds,
     "control": {"ended": {uid: when}, "timers": {"task/subtask": when}}}

`ended` names the sources whose end this batch, or an earlier one, has been told; `timers` are the
tasks that asked to be visited at a time that has come. An absent part is empty.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, TypedDict

from penstock.core.io import Position


class Offset(TypedDict):
    """Where a batch begins or ends, as the head of this module describes it."""

    sources: dict[str, Position]
    time: int
    control: dict[str, Any]


def make_offset(
    positions: Mapping[str, Position], time: int, control: Mapping[str, Any] | None = None
) -> Offset:
    """Return an offset; empty parts of `control` are left out."""
    parts = {name: part for name, part in (control or {}).items() if part}
    return {"sources": dict(positions), "time": time, "control": parts}


def ended_sources(offset: Offset) -> dict[str, int]:
    """Return the sources whose end has been told to a batch, with the time of that batch."""
    return dict(offset["control"].get("ended", {}))


def as_json(value: Any) -> Any:
    """Return the value as it reads after a passage through JSON.

    :raises TypeError: if it is no JSON.
    """
    return json.loads(json.dumps(value))


def time_ms() -> int:
    """Return the system's time in epoch milliseconds."""
    return time.time_ns() // 1_000_000
