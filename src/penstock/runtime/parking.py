"""Keep heavy envelopes out of the engine's memory: their bodies lie in files while they travel.

Spark's JVM holds a row several times over while it sorts, shuffles and collects it, and has a
gigabyte for everything by default. What weighs much waits in a folder of the machine that runs the
job, and only where it is goes through Spark. Where the workers do not share that folder, all goes
through Spark.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.runtime.context import LOCAL_FOLDER_SETTING
from penstock.runtime.envelope import park

#: An envelope of this weight is parked.
_HEAVY = 1 << 20
#: So are lighter ones, down to the second weight, if all that a task sends weighs as much.
_HEAVY_TOGETHER, _LIGHT = 8 << 20, 1 << 16
_NAME = "parked"


def park_heavy(
    rows: list[tuple[int, bytes]], settings: Mapping[str, Any]
) -> list[tuple[int, bytes]]:
    """Return what a task sends, with heavy envelopes parked.

    :param settings: of the job's plan.
    """
    together = sum([len(payload) for _, payload in rows])
    if together < _HEAVY:
        return rows
    job = settings.get(LOCAL_FOLDER_SETTING)
    if job is None or not os.path.isdir(job):
        return rows
    folder = Path(job) / _NAME
    folder.mkdir(exist_ok=True)
    least = _LIGHT if together > _HEAVY_TOGETHER else _HEAVY
    return [
        (slot, payload if len(payload) < least else park(payload, folder / uuid.uuid4().hex))
        for slot, payload in rows
    ]


def clear_parked(job: str) -> None:
    """Remove what is parked in a job's folder: the batch that needed it is recorded."""
    with contextlib.suppress(FileNotFoundError), os.scandir(os.path.join(job, _NAME)) as entries:
        for entry in entries:
            os.unlink(entry)
