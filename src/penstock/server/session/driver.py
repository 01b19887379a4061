"""The process of a job: started so that it outlives the session, and leaves word of its end."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
from pathlib import Path

from penstock.common.options import CHECKPOINT_DIR, FACTS_DIR, LOG_DIR, REST_ADDRESS, REST_PORT
from penstock.execution.configuration import CLIENT_OPTIONS, load_configuration
from penstock.execution.job_ids import JOB_ID_VARIABLE
from penstock.execution.program_path import with_program_path
from penstock.server.session.store import Entry

#: Runs a command and notes how it ended; a command that was killed has 128 and the signal.
_SHELL = '"$@"; code=$?; echo $code > "$0.part" && mv "$0.part" "$0"; exit $code'
#: A shell tells so that its command was killed.
_KILLED = 128


def start_driver(entry: Entry, checkpoints: Path) -> int:
    """Start the process of a record, and return its id.

    :param checkpoints: folder of the checkpoints of jobs whose settings name none.
    """
    with contextlib.suppress(FileNotFoundError):
        entry.exit.unlink()
    lock = os.open(entry.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(entry.output, "ab") as output:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _SHELL, str(entry.exit), *entry.record.command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_environment(entry, checkpoints),
                # A signal to the session's terminal is not for the job.
                start_new_session=True,
                pass_fds=(lock,),
            )
    finally:
        os.close(lock)
    return process.pid


def _environment(entry: Entry, checkpoints: Path) -> dict[str, str]:
    record = entry.record
    settings = {FACTS_DIR.key: str(entry.facts), **record.settings}
    configured = {**load_configuration().to_dict(), **settings}
    if LOG_DIR.read(configured) is None:
        # Else it goes with the process: it is wanted most when that has failed.
        settings[LOG_DIR.key] = str(entry.logs)
    base = CHECKPOINT_DIR.read(configured)
    # One of its own: scripts of one name may run at the same time.
    settings[CHECKPOINT_DIR.key] = f"{base or checkpoints}/{record.id}"
    # The job is this session's already, and the session's port is not free for it.
    for key in (REST_ADDRESS.key, REST_PORT.key):
        settings.pop(key, None)
    return {
        **with_program_path(os.environ, settings),
        CLIENT_OPTIONS: json.dumps(settings),
        JOB_ID_VARIABLE: record.id,
        "PYTHONUNBUFFERED": "1",
    }


def was_killed(code: int | None) -> bool:
    """Tell whether a process ended by no will of its own, so that its job should go on."""
    return code is None or code >= _KILLED or code < 0


def end_driver(pid: int) -> None:
    """End a process that has no job yet, with all that it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGTERM)
