"""The folder of a job: where it is, whose it is, and what stays of it when the job ends.

`<checkpoint dir>/<job name>` holds Spark's checkpoint in `spark` and the coordinator's records in
`penstock`. A folder that an unfinished job left behind is taken up again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.errors import ConfigurationError, JobFailedError
from penstock.execution.process_folder import process_folder
from penstock.graph.plan import ExecutionPlan

DIRECTORY_KEYS = ("execution.checkpointing.dir", "state.checkpoints.dir")
RETENTION_KEY = "execution.checkpointing.externalized-checkpoint-retention"
_RETAIN = "RETAIN_ON_CANCELLATION"
_FACTS = "job.json"
_LOCK = "lock"
#: How long the JVM of a killed process may take to end.
_PATIENCE_SECONDS = 60.0

_executed: Counter[str] = Counter()
_counting = threading.Lock()


@dataclass
class JobFolder:
    """A job's own folder, held by this process until it is let go."""

    path: Path
    job_id: str
    #: The folder goes with the job, however it ends.
    temporary: bool
    retained_on_cancel: bool
    _lock: int

    @property
    def spark(self) -> str:
        """Spark's checkpoint location."""
        return str(self.path / "spark")

    @property
    def penstock(self) -> str:
        """The coordinator's folder."""
        return str(self.path / "penstock")

    def last_committed(self) -> int | None:
        """Return the last batch that Spark's commit log holds."""
        try:
            names = os.listdir(self.path / "spark" / "commits")
        except FileNotFoundError:
            return None
        return max((int(name) for name in names if name.isdigit()), default=None)

    def release(self, *, finished: bool = False, cancelled: bool = False) -> None:
        """Let the folder go, and remove it if nobody will need it again."""
        if self.temporary or finished or (cancelled and not self.retained_on_cancel):
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def take_folder(
    configuration: Mapping[str, str], job_name: str, plan: ExecutionPlan, jvm_pid: int | None
) -> JobFolder:
    """Create the folder of a job, or take over the one that an unfinished job left behind.

    :param jvm_pid: the process that will write Spark's part of the folder.
    :raises JobFailedError: if another process works in it.
    :raises ConfigurationError: if it belongs to a program of another shape.
    """
    base = _base(configuration)
    if base is None:
        path = process_folder().make("job")
    else:
        path = base / _next_name(base, job_name)
        path.mkdir(parents=True, exist_ok=True)
    lock = _locked(path)
    try:
        job_id = _claim(path, job_name, plan, jvm_pid)
    except BaseException:
        os.close(lock)
        raise
    retained = configuration.get(RETENTION_KEY, "").upper() == _RETAIN
    return JobFolder(path, job_id, base is None, retained, lock)


def _claim(path: Path, job_name: str, plan: ExecutionPlan, jvm_pid: int | None) -> str:
    """Write down whose folder it is, once it is certain that nobody else works in it."""
    facts = _read_facts(path)
    shape = {"slots": plan.slots, "levels": plan.levels}
    if facts is None:
        facts = {"job_id": uuid.uuid4().hex, "name": job_name, "shape": shape}
    else:
        _check_shape(path, facts["shape"], shape)
        _wait_for_end_of(facts.get("jvm_pid"), jvm_pid, path)
    _write_facts(path, {**facts, "jvm_pid": jvm_pid})
    return str(facts["job_id"])


def _base(configuration: Mapping[str, str]) -> Path | None:
    for key in DIRECTORY_KEYS:
        text = configuration.get(key)
        if text:
            parts = urlsplit(text)
            if parts.scheme not in ("", "file"):
                raise ConfigurationError(
                    "checkpoints can be kept on a local or mounted file system only",
                    where=f"configuration key {key}",
                    got=repr(text),
                    todo="give a path, or a file: address",
                )
            return Path(unquote(parts.path) if parts.scheme else text).expanduser().absolute()
    return None


def _next_name(base: Path, job_name: str) -> str:
    """Return the folder's name: the job's, with a number from its second execution on."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", job_name).strip("-.") or "job"
    with _counting:
        place = str(base / slug)
        _executed[place] += 1
        number = _executed[place]
    return slug if number == 1 else f"{slug}-{number}"


def _locked(path: Path) -> int:
    lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise JobFailedError(
            "another process is running this job",
            where=f"job directory {path}",
            todo="wait until it ends, or give this job another name or checkpoint directory",
        ) from None
    return lock


def _read_facts(path: Path) -> dict[str, Any] | None:
    with contextlib.suppress(FileNotFoundError):
        facts: dict[str, Any] = json.loads((path / _FACTS).read_text(encoding="utf-8"))
        return facts
    return None


def _write_facts(path: Path, facts: Mapping[str, Any]) -> None:
    unfinished = path / (_FACTS + ".tmp")
    unfinished.write_text(json.dumps(facts), encoding="utf-8")
    os.replace(unfinished, path / _FACTS)


def _check_shape(path: Path, before: Mapping[str, int], now: Mapping[str, int]) -> None:
    if before != now:
        raise ConfigurationError(
            "the checkpoint belongs to a job of another shape",
            where=f"job directory {path}",
            got=f"{_show(now)}; the checkpoint has {_show(before)}",
            todo="run the program with the parallelism and exchanges that it had, or start anew "
            "with another job name or checkpoint directory",
        )


def _show(shape: Mapping[str, int]) -> str:
    return f"parallelism {shape['slots']} in {shape['levels']} exchange level(s)"


def _wait_for_end_of(pid: int | None, own: int | None, path: Path) -> None:
    """Wait for the JVM of a killed process: until it has ended it may go on writing."""
    if pid is None or pid == own:
        return
    for _ in _until(_PATIENCE_SECONDS):
        if not _is_jvm(pid):
            return
    raise JobFailedError(
        "an earlier run of this job has not ended",
        where=f"job directory {path}",
        got=f"process {pid} is still running",
        todo=f"end process {pid}, then start the job again",
    )


def _is_jvm(pid: int) -> bool:
    try:
        # The number may have gone to another program since.
        return b"java" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _until(seconds: float) -> Iterator[None]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield
        time.sleep(0.1)
