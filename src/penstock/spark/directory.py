"""The folder of a job: where it is, whose it is, and what stays of it when the job ends.

A job is known by its name: `<checkpoint dir>/<name>-<hash of the name>` holds Spark's checkpoint in
`spark` and the coordinator's records in `penstock`. A folder that an unfinished job left behind is
taken up again, by the same process or by another. Of several jobs of one name that a program runs,
one after another or at the same time, the second has `-2` behind it, and so on: the first that is
neither finished nor running. So a program that is started again finds for each job its own folder.
"""

from __future__ import annotations

import contextlib
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

from pyspark.sql import SparkSession

from penstock.common.options import CHECKPOINT_DIR, RETENTION
from penstock.connectors.file_paths import absolute, is_local, join, store_of
from penstock.errors import ConfigurationError, JobFailedError
from penstock.execution.job_ids import new_job_id
from penstock.execution.process_folder import close_own, process_folder
from penstock.spark.folder_hold import hold, rest_of
from penstock.spark.internals import hadoop_sees
from penstock.spark.processes import started

_RETAIN = "RETAIN_ON_CANCELLATION"
_FACTS = "job.json"
#: How long the JVM of a killed process may take to end.
_PATIENCE_SECONDS = 60.0

#: Of the name that can be read; the hash tells names apart.
_LONGEST_NAME = 60

#: Folders whose jobs are running in this process or have ended there for good.
_taken: set[str] = set()
_taking = threading.Lock()


@dataclass
class JobFolder:
    """A job's own folder, held by this process until it is let go."""

    #: An absolute path, or a URL.
    path: str
    #: A folder of this machine, for what need not outlive the process; the same one if it can be.
    local: str
    job_id: str
    #: Says in the folder's facts that it is this process that works there.
    owner: str
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
        return checkpoint_of(self.path, self.run)

    @property
    def penstock(self) -> str:
        """The coordinator's folder."""
        return join(self.path, "penstock")

    def last_committed(self) -> int | None:
        """Return the last batch that Spark's commit log holds."""
        return last_committed(self.spark)

    def begin_anew(self, savepoint: str) -> None:
        """Let another checkpoint of Spark's begin, from a savepoint; the one so far goes."""
        before = self.spark
        self.run, self.restore = self.run + 1, savepoint
        facts = _read_facts(self.path) or {}
        _write_facts(self.path, {**facts, "run": self.run, "restore": savepoint})
        store_of(before).delete_folder(before)

    def require_own(self) -> None:
        """Look whether the folder is still this process's, where no lock keeps others away.

        :raises JobFailedError: if another process, on another machine, has taken it over.
        """
        if is_local(self.path):
            return
        if (_read_facts(self.path) or {}).get("owner") != self.owner:
            raise JobFailedError(
                "another process has taken the job over",
                where=f"job directory {self.path}",
                todo="run a job in one place at a time, or with another name or checkpoint "
                "directory",
            )

    def note_jvm(self, jvm_pid: int | None) -> None:
        """Note that another process will write Spark's part of the folder from now on."""
        facts = _read_facts(self.path)
        if facts is not None:
            _write_facts(self.path, {**facts, "jvm": _known_jvm(jvm_pid)})

    def release(self, *, finished: bool = False, cancelled: bool = False) -> None:
        """Let the folder go, and remove it if nobody will need it again."""
        if self.local != self.path:
            shutil.rmtree(self.local, ignore_errors=True)
        if self.temporary or finished or (cancelled and not self.retained_on_cancel):
            _remove(self.path)
        else:
            _give_back(self.path)
        close_own(self._lock)


def checkpoint_of(path: str, run: int) -> str:
    """Return Spark's checkpoint location in a job's folder."""
    return join(path, "spark" if run == 0 else f"spark-{run}")


def last_committed(checkpoint: str) -> int | None:
    """Return the last batch that the commit log of a checkpoint of Spark's holds."""
    names = store_of(checkpoint).names(join(checkpoint, "commits"))
    return max((int(name) for name in names if name.isdigit()), default=None)


def read_run(path: str) -> tuple[int, str | None] | None:
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
    path = str(process_folder().make("job")) if base is None else _next_folder(base, job_name)
    try:
        lock = hold(path)
        try:
            facts = _claim(path, job_name, jvm_pid)
        except BaseException:
            close_own(lock)
            raise
    except BaseException:
        _give_back(path)
        raise
    return JobFolder(
        path,
        path if is_local(path) else str(process_folder().make("job")),
        facts["job_id"],
        facts["owner"],
        base is None,
        RETENTION.read(configuration) == _RETAIN,
        lock,
        facts.get("run", 0),
        facts.get("restore"),
    )


def check_directory(configuration: Mapping[str, str]) -> None:
    """Look whether the folders of jobs can be made where the settings say, before Spark is started.

    :raises ConfigurationError: if they cannot.
    """
    base = _base(configuration)
    if base is None:
        return
    if not is_local(base):
        store_of(base)  # whether it is known and answers
        return
    there = next(path for path in (Path(base), *Path(base).parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise ConfigurationError(
            "the checkpoint directory cannot be written",
            where=f"configuration key {CHECKPOINT_DIR.key_in(configuration)}",
            got=f"{base}; {there} is {'not writable' if there.is_dir() else 'no folder'}",
            todo="name a folder that this user can write to",
        )


def may_go_on(configuration: Mapping[str, str], job_name: str) -> bool:
    """Tell whether a job may have a folder of an earlier run to go on from."""
    base, name = _base(configuration), folder_name(job_name)
    return base is not None and any(n.startswith(name) for n in store_of(base).names(base))


def check_spark_sees(folder: JobFolder, session: SparkSession) -> None:
    """Look whether Spark reaches a job's folder that is not of this machine, under the same URL.

    :raises ConfigurationError: if it does not.
    """
    if is_local(folder.path):
        return
    try:
        found = hadoop_sees(session, join(folder.path, _FACTS))
        problem = "it does not see what was written there through pyarrow"
    except Exception as error:
        found = False
        problem = _first_line(error)
    if not found:
        raise ConfigurationError(
            "Spark cannot keep its part of the checkpoint there",
            where=f"job directory {folder.path}",
            got=problem,
            todo="give Spark the file system of that scheme (spark.jars.packages, "
            "spark.hadoop.fs.*), or name another checkpoint directory",
        )


def _first_line(error: Exception) -> str:
    """Return what Java says was wrong, without the frames that led there."""
    cause = getattr(error, "java_exception", None)
    text = str(error if cause is None else cause.toString())
    return text.strip().splitlines()[0]


def _claim(path: str, job_name: str, jvm_pid: int | None) -> dict[str, Any]:
    """Write down whose folder it is, once it is certain that nobody else works in it."""
    facts = _read_facts(path)
    if facts is None:
        if not is_local(path):
            store_of(path).delete_folder(path)  # what is left of one that was being removed
        facts = {"job_id": new_job_id(), "name": job_name}
    else:
        _check_name(path, facts["name"], job_name)
        _wait_for_end_of(facts.get("jvm"), jvm_pid, path)
    facts |= {"jvm": _known_jvm(jvm_pid), "owner": uuid.uuid4().hex}
    _write_facts(path, facts)
    return facts


def _known_jvm(jvm_pid: int | None) -> dict[str, Any] | None:
    return None if jvm_pid is None else {"pid": jvm_pid, "started": started(jvm_pid)}


def _base(configuration: Mapping[str, str]) -> str | None:
    text = CHECKPOINT_DIR.read(configuration)
    return None if text is None else absolute(os.path.expanduser(text)).rstrip("/")


def folder_name(job_name: str) -> str:
    """Return a job's folder: what can be read of its name, and a hash that tells names apart."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", job_name)[:_LONGEST_NAME].strip("-.") or "job"
    digest = hashlib.sha256(job_name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{readable}-{digest[:12]}"


def _next_folder(base: str, job_name: str) -> str:
    """Take the first folder of the name that no job of this process has or has finished with."""
    name = folder_name(job_name)
    with _taking:
        number = 1
        while (path := join(base, name if number == 1 else f"{name}-{number}")) in _taken:
            number += 1
        _taken.add(path)
    return path


def _remove(path: str) -> None:
    """Remove a folder at once: half of it would pass for the folder of an unfinished job."""
    if not is_local(path):
        # Without its facts it is nobody's.
        store = store_of(path)
        store.delete_whole(join(path, _FACTS))
        store.delete_folder(path)
        return
    rest = rest_of(Path(path))
    with contextlib.suppress(OSError):
        Path(path).rename(rest)
    shutil.rmtree(rest, ignore_errors=True)


def _give_back(path: str) -> None:
    with _taking:
        _taken.discard(path)


def _read_facts(path: str) -> dict[str, Any] | None:
    data = store_of(path).read_whole(join(path, _FACTS))
    return None if data is None else dict(json.loads(data))


def _write_facts(path: str, facts: Mapping[str, Any]) -> None:
    store_of(path).write_whole(join(path, _FACTS), json.dumps(facts).encode())


def _check_name(path: str, before: str, now: str) -> None:
    if before != now:
        raise ConfigurationError(
            "the checkpoint belongs to a job of another name",
            where=f"job directory {path}",
            got=f"{now!r}; the checkpoint is of {before!r}",
            todo="give this job another name or checkpoint directory",
        )


def _wait_for_end_of(jvm: Mapping[str, Any] | None, own: int | None, path: str) -> None:
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
