"""Who works in a job's folder: one process at a time.

On a file system of this machine a lock in the folder says so; the operating system lets go of it
when its process dies. Other stores have no such locks. There a lock of this machine keeps its
processes apart, and an *owner*, a random word in the folder's facts, those of other machines: who
comes last takes the folder over, and the one before it notices when it records its next batch and
fails. What Spark writes to such a store it writes in a way that two queries cannot both go on.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from penstock.connectors.file_paths import is_local
from penstock.errors import JobFailedError
from penstock.execution.process_folder import keep_from_forks

_LOCK = "lock"


def hold(path: str) -> int:
    """Hold a job's folder, which is made if it is not there; return the lock.

    :raises JobFailedError: if another process of this machine holds it.
    """
    return _hold_local(Path(path)) if is_local(path) else _hold_remote(path)


def rest_of(path: Path) -> Path:
    """Return the name that a folder has while it is being removed."""
    return path.with_name(f".{path.name}.removed")


def _hold_local(path: Path) -> int:
    while True:
        path.mkdir(parents=True, exist_ok=True)
        try:
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:
            continue  # its job has finished this moment
        try:
            _lock(lock, str(path))
            if os.path.samestat(os.fstat(lock), os.stat(path / _LOCK)):
                shutil.rmtree(rest_of(path), ignore_errors=True)
                return keep_from_forks(lock)
        except FileNotFoundError:
            pass
        os.close(lock)


def _hold_remote(path: str) -> int:
    """Hold a file of this machine that stands for the folder; it stays there, empty."""
    name = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    file = Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}-{name}.lock"
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    lock = os.open(file, flags, 0o600)
    _lock(lock, path)
    return keep_from_forks(lock)


def _lock(lock: int, path: str) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise JobFailedError(
            "another process is running a job of this name",
            where=f"job directory {path}",
            todo="wait until it ends, or give this job another name or checkpoint directory",
        ) from None
