"""The log of a job: one file, rotating, with the operator's name on each line.

It has what the functions of the job log, wherever they run, and what becomes of the job. What Spark
has to say of itself is in a file of its own.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections import deque
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path

from penstock.common.options import JOB_LOG_BYTES, JOB_LOG_FILES, JOB_LOG_LEVEL, LOG_DIR
from penstock.execution.facts.archive import local_path
from penstock.execution.facts.masking import Hider
from penstock.execution.facts.snapshot import LogFile
from penstock.execution.log_names import JOB, OPERATOR
from penstock.execution.process_folder import process_folder

FILE = "job.log"
_FORMAT = "%(asctime)s %(levelname)-5s [%(penstock_operator)s] %(name)s - %(message)s"
#: Says of lines that no operator has written.
_JOB_ITSELF = "job"

_LEVELS = {name: getattr(logging, name) for name in ("DEBUG", "INFO", "WARNING", "ERROR")}

#: How many logs of ended jobs stay in the temporary folder of a process: a program that runs jobs
#: all day must not fill it. Logs in a folder of the user's own stay.
_KEPT = 50

_guard = threading.Lock()
_logs: dict[str, JobLog] = {}
#: Folders of ended jobs' logs that nobody asked to keep, the oldest first.
_ended: deque[Path] = deque()


class _Discreet(logging.Formatter):
    """Write lines without secrets."""

    def __init__(self, hide: Hider) -> None:
        super().__init__(_FORMAT)
        self._hide = hide

    def format(self, record: logging.LogRecord) -> str:
        return self._hide(super().format(record))


class JobLog:
    """The file of one job. Any thread may write to it.

    :param folder: the job's own folder of logs.
    :param secrets: settings whose secret values are hidden.
    """

    def __init__(
        self,
        folder: Path,
        *,
        level: int = logging.NOTSET,
        size: int = 10 << 20,
        files: int = 10,
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / FILE
        self._handler = RotatingFileHandler(
            self.path, maxBytes=size, backupCount=files, encoding="utf-8", delay=True
        )
        self._handler.setFormatter(_Discreet(Hider(secrets or {})))
        self._level = level

    def handle(self, record: logging.LogRecord) -> None:
        """Write a record, if it is of the level that is asked for."""
        if record.levelno >= self._level:
            if not hasattr(record, OPERATOR):
                setattr(record, OPERATOR, _JOB_ITSELF)
            self._handler.handle(record)

    def say(self, level: int, text: str, error: BaseException | None = None) -> None:
        """Write a line about the job itself."""
        trace = None if error is None else (type(error), error, error.__traceback__)
        self.handle(logging.LogRecord("penstock", level, "", 0, text, None, trace))

    def files(self) -> list[LogFile]:
        """Return the file, and those that were put aside, the newest first."""
        older = [path for path in self.path.parent.glob(f"{FILE}.*") if path.suffix[1:].isdigit()]
        older.sort(key=lambda path: int(path.suffix[1:]))
        return [LogFile(path.name, str(path), "job") for path in (self.path, *older)]

    def close(self) -> None:
        """Let go of the file."""
        self._handler.close()


def level_of(settings: Mapping[str, str]) -> int | None:
    """Return the level that the settings ask for; None: as the program's own logging says."""
    name = JOB_LOG_LEVEL.read(settings)
    return None if name is None else _LEVELS[name]


def open_log(job_id: str, settings: Mapping[str, str]) -> JobLog:
    """Make the log of a job, so that what workers send for it is found in it."""
    base = LOG_DIR.read(settings)
    log = JobLog(
        (_own_logs() if base is None else local_path(base)) / job_id,
        level=level_of(settings) or logging.NOTSET,
        size=JOB_LOG_BYTES.read(settings),
        files=JOB_LOG_FILES.read(settings),
        secrets=settings,
    )
    with _guard:
        _logs[job_id] = log
    return log


def close_log(job_id: str) -> None:
    """End the log of a job."""
    with _guard:
        log = _logs.pop(job_id, None)
    if log is None:
        return
    log.close()
    folder = log.path.parent
    if folder.parent == _own_logs():
        with _guard:
            _ended.append(folder)
            old = _ended.popleft() if len(_ended) > _KEPT else None
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)


def _own_logs() -> Path:
    return process_folder().path / "logs"


def log_to_job(record: logging.LogRecord) -> None:
    """Write what a worker has sent to the log of its job."""
    log = _logs.get(getattr(record, JOB, ""))
    if log is not None:
        log.handle(record)
