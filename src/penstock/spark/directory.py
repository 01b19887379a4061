"""The folder of a job: where it is, whose it is, and what stays of it when the job ends.

A job is known by its name: `<checkpoint dir>/<name>-<hash of the name>` holds Spark's checkpoint in
`spark` and the coordinator's records in `penstock`. A folder that an unfinished job left behind is
taken up again, by the same process or by another. Of several jobs of one name that a program runs,
one after another or at the same time, the second has `-2` behind it, and so on: the first that is
neither finished nor running. So a program that is started again finds for each job its own folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import json
import os
import re
import shutil
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.common.options import CHECKPOINT_DIR, RETENTION
from penstock.errors import ConfigurationError, JobFailedError
from penstock.execution.process_folder import close_own, keep_from_forks, process_folder
from penstock.spark.processes import started

_RETAIN = "RETAIN_ON_CANCELLATION"
_FACTS = "job.json"
_LOCK = "lock"
#: How long the JVM of a killed process may take to end.
_PATIENCE_SECONDS = 60.0

#: Of the name that can be read; the hash tells names apart.
_LONGEST_NAME = 60

#: Folders whose jobs are running in this process or have ended there for good.
_taken: set[Path] = set()
_taking = threading.Lock()


@dataclass
class JobFolder:
    """A job's own folder, held by this process until it is let go."""

    path: Path
    job_id: str
    #: The folder goes with the job, however it ends.
    temporary: bool
    retained_on_cancel: bool
    _lock: int
    #: Spark's checkpoints begin anew when the job goes on from a savepoint: the number of this one.
    run: int = 0
    #: The savepoint that it began from.
    restore: str | None = None

    @property
    def spark(self) -> str:
        """Spark's checkpoint location."""
        return str(checkpoint_of(self.path, self.run))

    @property
    def penstock(self) -> str:
        """The coordinator's folder."""
        return str(self.path / "penstock")

    def last_committed(self) -> int | None:
        """Return the last batch that Spark's commit log holds."""
        return last_committed(Path(self.spark))

    def begin_anew(self, savepoint: str) -> None:
        """Let another checkpoint of Spark's begin, from a savepoint; the one so far goes."""
        before = Path(self.spark)
        self.run, self.restore = self.run + 1, savepoint
        facts = _read_facts(self.path) or {}
        _write_facts(self.path, {**facts, "run": self.run, "restore": savepoint})
        shutil.rmtree(before, ignore_errors=True)

    def note_jvm(self, jvm_pid: int | None) -> None:
        """Note that another process will write Spark's part of the folder from now on."""
        facts = _read_facts(self.path)
        if facts is not None:
            _write_facts(self.path, {**facts, "jvm": _known_jvm(jvm_pid)})

    def release(self, *, finished: bool = False, cancelled: bool = False) -> None:
        """Let the folder go, and remove it if nobody will need it again."""
        if self.temporary or finished or (cancelled and not self.retained_on_cancel):
            _remove(self.path)
        else:
            _give_back(self.path)
        close_own(self._lock)


def checkpoint_of(path: Path, run: int) -> Path:
    """Return Spark's checkpoint location in a job's folder."""
    return path / ("spark" if run == 0 else f"spark-{run}")


def last_committed(checkpoint: Path) -> int | None:
    """Return the last batch that the commit log of a checkpoint of Spark's holds."""
    try:
        names = os.listdir(checkpoint / "commits")
    except FileNotFoundError:
        return None
    return max((int(name) for name in names if name.isdigit()), default=None)


def read_run(path: Path) -> tuple[int, str | None] | None:
    """Return which checkpoint of Spark's a job's folder has, and what it began from.

    None if it is no job's folder.
    """
    facts = _read_facts(path)
    return None if facts is None else (facts.get("run", 0), facts.get("restore"))


def take_folder(configuration: Mapping[str, str], job_name: str, jvm_pid: int | None) -> JobFolder:
    """Create the folder of a job, or take over the one that an unfinished job left behind.

    :param jvm_pid: the process that will write Spark's part of the folder.
    :raises JobFailedError: if another process works in it.
    :raises ConfigurationError: if it belongs to a job of another name.
    """
    base = _base(configuration)
    path = process_folder().make("job") if base is None else _next_folder(base, job_name)
    try:
        lock = _locked(path)
        try:
            job_id = _claim(path, job_name, jvm_pid)
            run, restore = read_run(path) or (0, None)
        except BaseException:
            close_own(lock)
            raise
    except BaseException:
        _give_back(path)
        raise
    retained = RETENTION.read(configuration) == _RETAIN
    return JobFolder(path, job_id, base is None, retained, lock, run, restore)


def check_directory(configuration: Mapping[str, str]) -> None:
    """Look whether the folders of jobs can be made where the settings say, before Spark is started.

    :raises ConfigurationError: if they cannot.
    """
    base = _base(configuration)
    if base is None:
        return
    there = next(path for path in (base, *base.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise ConfigurationError(
            "the checkpoint directory cannot be written",
            where=f"configuration key {CHECKPOINT_DIR.key_in(configuration)}",
            got=f"{base}; {there} is {'not writable' if there.is_dir() else 'no folder'}",
            todo="name a folder that this user can write to",
        )


def may_go_on(configuration: Mapping[str, str], job_name: str) -> bool:
    """Tell whether a job may have a folder of an earlier run to go on from."""
    base = _base(configuration)
    return base is not None and any(base.glob(f"{glob.escape(folder_name(job_name))}*"))


def _claim(path: Path, job_name: str, jvm_pid: int | None) -> str:
    """Write down whose folder it is, once it is certain that nobody else works in it."""
    facts = _read_facts(path)
    if facts is None:
        facts = {"job_id": uuid.uuid4().hex, "name": job_name}
    else:
        _check_name(path, facts["name"], job_name)
        _wait_for_end_of(facts.get("jvm"), jvm_pid, path)
    _write_facts(path, {**facts, "jvm": _known_jvm(jvm_pid)})
    return str(facts["job_id"])


def _known_jvm(jvm_pid: int | None) -> dict[str, Any] | None:
    return None if jvm_pid is None else {"pid": jvm_pid, "started": started(jvm_pid)}


def _base(configuration: Mapping[str, str]) -> Path | None:
    text = CHECKPOINT_DIR.read(configuration)
    if text is None:
        return None
    parts = urlsplit(text)
    if parts.scheme not in ("", "file"):
        raise ConfigurationError(
            "checkpoints can be kept on a local or mounted file system only",
            where=f"configuration key {CHECKPOINT_DIR.key_in(configuration)}",
            got=repr(text),
            todo="give a path, or a file: address",
        )
    return Path(unquote(parts.path) if parts.scheme else text).expanduser().absolute()


def folder_name(job_name: str) -> str:
    """Return a job's folder: what can be read of its name, and a hash that tells names apart."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", job_name)[:_LONGEST_NAME].strip("-.") or "job"
    digest = hashlib.sha256(job_name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{readable}-{digest[:12]}"


def _next_folder(base: Path, job_name: str) -> Path:
    """Take the first folder of the name that no job of this process has or has finished with."""
    name = folder_name(job_name)
    with _taking:
        number = 1
        while (path := base / (name if number == 1 else f"{name}-{number}")) in _taken:
            number += 1
        _taken.add(path)
    return path


def _remove(path: Path) -> None:
    """Remove a folder at once: half of it would pass for the folder of an unfinished job."""
    rest = _rest_of(path)
    with contextlib.suppress(OSError):
        path.rename(rest)
    shutil.rmtree(rest, ignore_errors=True)


def _rest_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.removed")


def _give_back(path: Path) -> None:
    with _taking:
        _taken.discard(path)


def _locked(path: Path) -> int:
    """Make the folder if it is not there, and hold it."""
    while True:
        path.mkdir(parents=True, exist_ok=True)
        try:
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:
            continue  # its job has finished this moment
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock), os.stat(path / _LOCK)):
                shutil.rmtree(_rest_of(path), ignore_errors=True)
                return keep_from_forks(lock)
        except FileNotFoundError:
            pass
        except OSError:
            os.close(lock)
            raise JobFailedError(
                "another process is running a job of this name",
                where=f"job directory {path}",
                todo="wait until it ends, or give this job another name or checkpoint directory",
            ) from None
        os.close(lock)


def _read_facts(path: Path) -> dict[str, Any] | None:
    with contextlib.suppress(FileNotFoundError):
        facts: dict[str, Any] = json.loads((path / _FACTS).read_text(encoding="utf-8"))
        return facts
    return None


def _write_facts(path: Path, facts: Mapping[str, Any]) -> None:
    unfinished = path / (_FACTS + ".tmp")
    unfinished.write_text(json.dumps(facts), encoding="utf-8")
    os.replace(unfinished, path / _FACTS)


def _check_name(path: Path, before: str, now: str) -> None:
    if before != now:
        raise ConfigurationError(
            "the checkpoint belongs to a job of another name",
            where=f"job directory {path}",
            got=f"{now!r}; the checkpoint is of {before!r}",
            todo="give this job another name or checkpoint directory",
        )


def _wait_for_end_of(jvm: Mapping[str, Any] | None, own: int | None, path: Path) -> None:
    """Wait for the JVM of a killed process: until it has ended it may go on writing."""
    if jvm is None or jvm["pid"] == own:
        return
    pid = jvm["pid"]
    for _ in _until(_PATIENCE_SECONDS):
        if jvm["started"] is None or started(pid) != jvm["started"]:
            return
    raise JobFailedError(
        "an earlier run of this job has not ended",
        where=f"job directory {path}",
        got=f"process {pid} is still running",
        todo=f"end process {pid}, then start the job again",
    )


def _until(seconds: float) -> Iterator[None]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield
        time.sleep(0.1)
