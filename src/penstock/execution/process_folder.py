"""The temporary folder of a process: everything that a run needs on disk, and nothing after it.

It goes when the process ends. A killed process leaves it behind; the next one that makes its own
removes it. Who is alive is told by a lock on the folder, which the system itself releases: a
number of a process could have gone to another one since.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import threading
import time
from pathlib import Path

#: How the names of such folders begin.
PREFIX = "penstock-run-"
#: Open files that forked children let go of at once: see `keep_from_forks`.
_own_files: set[int] = set()
#: A file in every such folder: nothing is ever removed for its name alone.
_MARK = ".penstock"
#: How long the log of a job that failed because of Spark is kept.
_LOG_SECONDS = 7 * 24 * 3600.0
_guard = threading.Lock()
_folder: ProcessFolder | None = None
#: Folders of this process that stand elsewhere, by where.
_elsewhere: dict[Path, ProcessFolder] = {}


def keep_from_forks(handle: int) -> int:
    """Let children that are forked from this process not hold an open file; return it.

    A lock is held and a pipe is open as long as any process has it. A child of the user's own
    (multiprocessing) may live on when this process is killed.
    """
    _own_files.add(handle)
    return handle


def forget_own(handle: int) -> None:
    """Say that a file is about to be closed: its number may be another's at once."""
    _own_files.discard(handle)


def close_own(handle: int) -> None:
    """Close a file that was kept from forks."""
    forget_own(handle)
    os.close(handle)


def _close_in_child() -> None:
    for handle in _own_files:
        with contextlib.suppress(OSError):
            os.close(handle)
    _own_files.clear()


os.register_at_fork(after_in_child=_close_in_child)


class ProcessFolder:
    """A folder that this process holds; made by `process_folder`."""

    def __init__(self, parent: Path) -> None:
        self.path, self._lock = _make(parent)
        self._owner = os.getpid()

    @property
    def lock(self) -> int:
        """The open file that holds the folder: a child that inherits it holds it as well."""
        return self._lock

    @property
    def is_mine(self) -> bool:
        """Whether this process made the folder; a forked child only knows of it."""
        return self._owner == os.getpid()

    def make(self, prefix: str) -> Path:
        """Return a new folder in it."""
        return Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=self.path))

    def remove(self) -> None:
        """Remove the folder with all that is in it, unless it is another process's."""
        if self.is_mine:
            shutil.rmtree(self.path, ignore_errors=True)
            with contextlib.suppress(OSError):
                close_own(self._lock)


def process_folder() -> ProcessFolder:
    """Return the folder of this process; made on first use, removed at the process's end."""
    global _folder
    with _guard:
        if _folder is None or not _folder.is_mine or not _folder.path.is_dir():
            parent = Path(tempfile.gettempdir())
            sweep(parent)
            _folder = ProcessFolder(parent)
            atexit.register(_folder.remove)
        return _folder


def folder_in(parent: Path) -> ProcessFolder:
    """Return a folder of this process inside another one; made on first use.

    A worker ends without a chance to remove it: the next process that makes one there does.
    """
    with _guard:
        found = _elsewhere.get(parent)
        if found is None or not found.is_mine or not found.path.is_dir():
            parent.mkdir(parents=True, exist_ok=True)
            sweep(parent)
            found = _elsewhere[parent] = ProcessFolder(parent)
            atexit.register(found.remove)
        return found


def sweep(parent: Path) -> None:
    """Remove what killed processes of this user have left in a folder, and logs that are old."""
    for entry in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if entry.suffix == ".log":
                _remove_if_old(entry)
            else:
                _remove_if_left(entry)


def _remove_if_old(log: Path) -> None:
    found = log.lstat()
    old = time.time() - found.st_mtime > _LOG_SECONDS
    if old and stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid():
        log.unlink()


def _remove_if_left(path: Path) -> None:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if (path / _MARK).exists():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.rmdir()  # refused unless it is empty: killed before it could make the mark
    finally:
        os.close(handle)


def _make(parent: Path) -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        handle = keep_from_forks(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        # A sweep of another process may have come first: it holds the lock while it removes.
        fcntl.flock(handle, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            (path / _MARK).touch()
            return path, handle
        close_own(handle)
