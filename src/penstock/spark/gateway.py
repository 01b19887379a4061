"""Start Spark's JVM so that nothing of it reaches the user's terminal.

Everything that the JVM prints goes to a log file. It is removed when the process ends, unless a
job failed because of Spark: then its error names the file.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import pyspark
from py4j.clientserver import ClientServer

from penstock.common.options import LOG_FILE
from penstock.errors import ConfigurationError, JobFailedError
from penstock.execution.process_folder import forget_own, keep_from_forks, process_folder
from penstock.spark import launch, local_files
from penstock.spark.class_archive import find_archive
from penstock.spark.internals import active_gateway, forget_jvm, use_gateway
from penstock.spark.java import check_java
from penstock.spark.python_start import StartedNursery, start_nursery

_LOG4J = """\
rootLogger.level = {level}
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
# Spark takes the level of this one for all of its own when it is started from Python.
logger.repl.name = org.apache.spark.api.python.PythonGatewayServer
logger.repl.level = {level}
# These warn of what a streaming job does all the time.
logger.state.name = org.apache.spark.sql.execution.python.streaming
logger.state.level = error
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
logger.pools.name = org.apache.spark.scheduler.FairSchedulableBuilder
logger.pools.level = error
"""

_DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
_EXECUTOR_OPTIONS = "spark.executor.extraJavaOptions"
_TEMPORARY_OPTION = "-Djava.io.tmpdir"
_PYSPARK = Path(pyspark.__file__).parent
_ML_MODULE = "pyspark.ml"
_ML_JAR = "spark-mllib_"
#: How long the JVM may take to end once it is told to.
_PATIENCE_SECONDS = 10.0
#: Spark's sockets have names of 42 bytes; their paths may have 104 at most, on macOS.
_LONGEST_SOCKET_FOLDER = 60


class JvmFolder:
    """What the JVM of this process needs on disk: its log, and files that it reads at its start.

    :param log_file: where the log goes; if it is None, to a file that goes with the process.
    """

    def __init__(self, log_level: str, log_file: str | None = None) -> None:
        run = process_folder()
        #: Open in the JVM as well, so that the folder is not taken for left as long as it runs.
        self.lock = run.lock
        self.path = run.make("spark")
        self._temporary = self.path / "tmp"
        self._temporary.mkdir()
        self.log = self.path / "spark.log" if log_file is None else Path(log_file).absolute()
        #: Where the log goes if a job fails because of Spark.
        self._kept_log = run.path.with_suffix(".log") if log_file is None else self.log
        self.log4j = self.path / "log4j2.properties"
        self.log4j.write_text(_LOG4J.format(level=log_level.lower()), encoding="utf-8")
        #: What Spark's Python processes are forked from; None: Spark starts them itself.
        self.nursery: StartedNursery | None = None
        #: Where the JVM notes which classes it has loaded, if it is to.
        self.loaded_classes = self.path / "classes"
        archive = find_archive(check_java(), spark_jars(), os.environ)
        #: None where the user's cache folder cannot be used.
        self.archive = archive
        if archive is None:
            self.jar = self.path / "penstock.jar"
            local_files.write_jar(self.jar)
        else:
            self.jar = Path(archive.jars[0])

    def lay_over(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Return the settings, with all temporary files of Spark and its JVMs in this folder.

        Shuffle files, native libraries, sockets: a killed JVM does not remove them.
        """
        laid = {"spark.local.dir": str(self._temporary), **settings}
        if len(os.fsencode(self._temporary)) > _LONGEST_SOCKET_FOLDER:
            own = tempfile.gettempdir()
            short = own if len(os.fsencode(own)) <= _LONGEST_SOCKET_FOLDER else "/tmp"
            laid.setdefault("spark.python.unix.domain.socket.dir", short)
        here = laid["spark.master"].startswith("local-cluster")
        for key in (_DRIVER_OPTIONS, _EXECUTOR_OPTIONS) if here else (_DRIVER_OPTIONS,):
            options = laid.get(key, "")
            if _TEMPORARY_OPTION not in options:
                laid[key] = f'{options} "{_TEMPORARY_OPTION}={self._temporary}"'.strip()
        return laid

    def keep_log(self) -> str:
        """Return the path of the log, which from now on outlives the process."""
        if self.log != self._kept_log:
            # The JVM goes on writing to it under its new name.
            self.log.rename(self._kept_log)
            self.log = self._kept_log
        return str(self.log)

    def make_spark_home(self, *, complete: bool) -> Path:
        """Make a Spark home that lacks what makes a start slow.

        It has no `python` folder: from there workers would import pyspark out of a zip file, which
        has no compiled modules; each new worker would compile all of pyspark, for a second.

        :param complete: with Spark's scripts and jars, for JVMs that scripts start.
        """
        home = self.path / "home"
        home.mkdir()
        if complete:
            for name in ("bin", "sbin"):
                (home / name).symlink_to(_PYSPARK / name)
            (home / "jars").mkdir()
            for jar in spark_jars():
                (home / "jars" / os.path.basename(jar)).symlink_to(jar)
        return home


def spark_jars() -> list[str]:
    """Return Spark's jars, without the library for machine learning unless the program uses it.

    It adds a function to every session, and Scala takes seconds to find out about that function's
    types.
    """
    names = sorted(name for name in os.listdir(_PYSPARK / "jars") if name.endswith(".jar"))
    wanted = _ML_MODULE in sys.modules
    return [str(_PYSPARK / "jars" / n) for n in names if wanted or not n.startswith(_ML_JAR)]


def start_jvm(
    settings: Mapping[str, str], folder: JvmFolder, *, prefork: bool = True
) -> ClientServer:
    """Start the JVM and tell pyspark to use it for the SparkContext to come.

    :param prefork: start the process that Spark's Python processes are forked from as well.
    :raises JobFailedError: if it does not come up.
    """
    _prepare_environment()
    log4j = f"-Dlog4j2.configurationFile={folder.log4j.as_uri()}"
    options = settings.get(_DRIVER_OPTIONS, "")
    settings = {**settings, _DRIVER_OPTIONS: f"{options} {log4j}".strip()}
    with _opened(folder.log) as output:
        if prefork and launch.is_plain(settings, os.environ) and _is_own_interpreter():
            folder.nursery = start_nursery(folder.path, output, os.environ)
        # This child is to hold it.
        forget_own(folder.lock)
        try:
            gateway = _launch(settings, folder, output)
        except (OSError, RuntimeError) as error:
            raise JobFailedError(
                "Spark's JVM did not start",
                got=f"{type(error).__name__}: {error}",
                todo=f"see Spark's log: {folder.keep_log()}",
            ) from None
        finally:
            keep_from_forks(folder.lock)
    if gateway.proc.stdin is not None:
        # The JVM ends when it is closed: a forked child must not keep it open.
        keep_from_forks(gateway.proc.stdin.fileno())
    use_gateway(gateway)
    atexit.register(_end, gateway, folder, os.getpid())
    return gateway


def _launch(settings: Mapping[str, str], folder: JvmFolder, output: IO[bytes]) -> Any:
    plain = launch.is_plain(settings, os.environ)
    environ = dict(os.environ)
    # The user's own Spark, if there is one.
    home = environ.setdefault("SPARK_HOME", str(folder.make_spark_home(complete=not plain)))
    if not plain:
        properties = folder.path / "spark.properties"
        command = launch.submit_command(home, settings, environ, properties)
        return launch.connect(launch.start(command, folder.path, environ, output, folder.lock))
    archive = folder.archive
    if settings.get("spark.driver.extraClassPath") != str(folder.jar):
        archive = None  # it would hold for another class path only
    java = check_java()
    while True:
        options = [] if archive is None else archive.options(folder.loaded_classes)
        arguments = folder.path / "java.arguments"
        command = launch.own_command(java, settings, spark_jars(), options, arguments)
        jvm = launch.start(command, folder.path, environ, output, folder.lock)
        try:
            return launch.connect(jvm)
        except RuntimeError:
            if archive is None or not archive.exists():
                raise
            archive.forget()  # it may be the archive that the JVM died of
            archive = None


def _is_own_interpreter() -> bool:
    return os.environ.get("PYSPARK_PYTHON") == sys.executable


def _opened(log: Path) -> IO[bytes]:
    try:
        handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigurationError(
            "Spark's log cannot be written",
            where=f"configuration key {LOG_FILE.key}",
            got=f"{type(error).__name__}: {error}",
            todo="name a file in a folder that exists",
        ) from None
    return open(handle, "ab")


def _end(gateway: Any, folder: JvmFolder, owner: int) -> None:
    """Let the JVM end and wait for it: what it still writes would outlive its folder."""
    process: subprocess.Popen[bytes] | None = gateway.proc
    if process is None or process.stdin is None or os.getpid() != owner:
        return
    if not process.stdin.closed:
        forget_own(process.stdin.fileno())
        process.stdin.close()
    try:
        process.wait(_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
    if folder.archive is not None:
        folder.archive.make_later(folder.loaded_classes)


def jvm_pid() -> int | None:
    """Return the process id of the JVM that this process started, if it did."""
    process = getattr(active_gateway(), "proc", None)
    return None if process is None else int(process.pid)


def jvm_end() -> int | None:
    """Return how the JVM of this process has ended, None if it runs or there is none.

    As `subprocess` tells it: an exit code, or the number of a signal below zero.
    """
    gateway: Any = active_gateway()
    process = getattr(gateway, "proc", None)
    return None if process is None else process.poll()


def bury_jvm() -> None:
    """Let a JVM that has ended be forgotten, so that another one can be started."""
    process = active_gateway().proc
    if process.stdin is not None and not process.stdin.closed:
        forget_own(process.stdin.fileno())
        with contextlib.suppress(OSError):
            process.stdin.close()
    forget_jvm()


def is_not_from_py4j(record: logging.LogRecord) -> bool:
    """Tell whether a record of a log is somebody else's than py4j's."""
    return Path(record.pathname).parent.name != "py4j"


def _prepare_environment() -> None:
    # py4j reports to the program's log what reaches the user as an error anyway, and at the end of
    # the program that the JVM has gone: to a logger of its own, and some of it to the root.
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(is_not_from_py4j)
    # Workers must be the interpreter that runs the program, not the first python3 of the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # Sets and dicts of strings are iterated in the same order in every worker.
    os.environ.setdefault("PYTHONHASHSEED", "0")
