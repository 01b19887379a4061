"""Ids of jobs: random, unless whoever started the process has chosen one."""

from __future__ import annotations

import os
import threading
import uuid

#: Id of the first job of a process that a session has started; further ones follow from it.
JOB_ID_VARIABLE = "PENSTOCK_JOB_ID"

_lock = threading.Lock()
_given = 0


def new_job_id() -> str:
    """Return an id for a new job: 32 hex digits.

    A program that is started again with the same id gives each of its jobs the same one as before.
    """
    global _given
    chosen = os.environ.get(JOB_ID_VARIABLE)
    if not chosen:
        return uuid.uuid4().hex
    with _lock:
        number, _given = _given, _given + 1
    return chosen if number == 0 else uuid.uuid5(uuid.UUID(hex=chosen), str(number)).hex
