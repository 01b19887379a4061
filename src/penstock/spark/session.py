"""The Spark session of a job: one SparkContext a process, one session a job."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
from collections.abc import Mapping

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.common.options import LOG_DIR, LOG_FILE, LOG_LEVEL, MASTER, PREFORK
from penstock.errors import ConfigurationError, JobFailedError
from penstock.execution.facts.archive import local_path
from penstock.execution.facts.snapshot import LogFile
from penstock.spark.gateway import JvmFolder, bury_jvm, jvm_end, start_jvm
from penstock.spark.internals import (
    active_context,
    active_gateway,
    check_version,
    look_for_no_sources,
    quiet_accumulators,
    set_interpreter,
)
from penstock.spark.java import check_java
from penstock.spark.settings import context_settings, session_settings

_lock = threading.Lock()
_folder: JvmFolder | None = None


def open_session(configuration: Mapping[str, str], slots: int) -> SparkSession:
    """Return a session for one job; Spark is started if it is not running yet.

    A SparkSession that the user's program has made is used, with its context and settings.

    :param slots: number of partitions of every exchange of the job.
    :raises JavaNotFoundError: if there is no Java to start Spark with.
    :raises ConfigurationError: if Spark runs already, on another master than the one asked for;
        or if there is no such log level.
    """
    with _lock:
        _bury_jvm()
        context = active_context()
        if context is None:
            running = _start(configuration)
        else:
            _check_master(context, configuration)
            running = SparkSession.builder.getOrCreate()
    if LOG_LEVEL.key in configuration:
        # It may be another job's Spark that is running, or the user's own.
        running.sparkContext.setLogLevel(LOG_LEVEL.read(configuration).upper())
    session = running.newSession()
    for key, value in session_settings(configuration, slots).items():
        session.conf.set(key, value)
    return session


def _bury_jvm() -> None:
    """If the JVM that Penstock started has ended, let another one be started in its place."""
    global _folder
    ended = jvm_end()
    if ended is None:
        return
    if _folder is None:
        raise own_jvm_has_ended(ended)
    bury_jvm()
    if _folder.nursery is not None:
        _folder.nursery.end()
    _folder = None


def is_own_jvm() -> bool:
    """Return whether Spark was started by Penstock, and not by the program itself."""
    return _folder is not None


def own_jvm_has_ended(status: int) -> JobFailedError:
    """Return the error for the end of a Spark that the program itself has started."""
    return JobFailedError(
        "the JVM of the program's own SparkSession has ended",
        got=told_status(status),
        todo="make the SparkSession anew before execute(), or let Penstock start Spark: then it "
        "starts it again and the job goes on",
    )


def told_status(status: int) -> str:
    """Say how a process has ended, in words."""
    if status >= 0:
        return f"exit code {status}"
    return f"signal {-status} ({signal.Signals(-status).name})"


def log_path() -> str | None:
    """Return the path of Spark's log, which is then kept; None if Spark was started elsewhere."""
    return None if _folder is None else _folder.keep_log()


def log_files() -> list[LogFile]:
    """Return the log of Spark as a file to be shown; none if Spark was started elsewhere."""
    if _folder is None:
        return []
    return [LogFile("spark.log", str(_folder.log), "spark")]


def _start(configuration: Mapping[str, str]) -> SparkSession:
    global _folder
    check_version()
    check_java()
    # A JVM outlives its SparkContext: after a stop, the next context starts in the same one.
    if active_gateway() is None:
        _folder = JvmFolder(LOG_LEVEL.read(configuration), _log_file(configuration))
        prefork = PREFORK.read(configuration)
        start_jvm(_settings(configuration), _folder, prefork=prefork)
    builder = SparkSession.builder
    for key, value in _settings(configuration).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    look_for_no_sources(session)
    quiet_accumulators(session.sparkContext)
    if _folder is not None and _folder.nursery is not None:
        set_interpreter(session.sparkContext, _folder.nursery.interpreter)
    atexit.register(_stop, session.sparkContext)
    return session


def _log_file(configuration: Mapping[str, str]) -> str | None:
    own, folder = LOG_FILE.read(configuration), LOG_DIR.read(configuration)
    if own is not None or folder is None:
        return own
    path = local_path(folder) / f"spark-{os.getpid()}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    return str(path)


def _settings(configuration: Mapping[str, str]) -> dict[str, str]:
    if _folder is None:
        return context_settings(configuration, None)
    return _folder.lay_over(context_settings(configuration, _folder.jar))


def _stop(context: SparkContext) -> None:
    # If the JVM is gone already there is nothing left to stop, and nobody left to tell.
    with contextlib.suppress(Exception):
        context.stop()


def _check_master(context: SparkContext, configuration: Mapping[str, str]) -> None:
    wanted = MASTER.read(configuration)
    if wanted and wanted != context.master:
        raise ConfigurationError(
            "Spark is running already, on another master",
            where=f"configuration key {MASTER.key}",
            got=f"{wanted!r}, while this process uses {context.master!r}",
            todo="use one master in a process, or stop the SparkContext first",
        )
