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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import pyspark
from py4j.clientserver import ClientServer
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from penstock.common.options import LOG_FILE
from penstock.errors import ConfigurationError, JobFailedError
from penstock.execution.process_folder import process_folder
from penstock.spark import local_files

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
        self._folder = run.make("spark")
        self._temporary = self._folder / "tmp"
        self._temporary.mkdir()
        self.log = self._folder / "spark.log" if log_file is None else Path(log_file).absolute()
        #: Where the log goes if a job fails because of Spark.
        self._kept_log = run.path.with_suffix(".log") if log_file is None else self.log
        self.log4j = self._folder / "log4j2.properties"
        self.log4j.write_text(_LOG4J.format(level=log_level.lower()), encoding="utf-8")
        self.jar = self._folder / "penstock.jar"
        local_files.write_jar(self.jar)
        self.spark_home = self._folder / "home"
        self._make_spark_home()

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

    def _make_spark_home(self) -> None:
        """Make a Spark home that lacks two things of pyspark's own that make a start slow.

        The `python` folder: from there workers would import pyspark out of a zip file, which has
        no compiled modules; each new worker would compile all of pyspark, for a second. And the
        library for machine learning, unless the program uses it: it adds a function to every
        session, and Scala takes seconds to find out about that function's types.
        """
        own = Path(pyspark.__file__).parent
        jars = self.spark_home / "jars"
        jars.mkdir(parents=True)
        for name in ("bin", "sbin"):
            (self.spark_home / name).symlink_to(own / name)
        for jar in (own / "jars").iterdir():
            if _ML_MODULE in sys.modules or not jar.name.startswith(_ML_JAR):
                (jars / jar.name).symlink_to(jar)


def start_jvm(settings: Mapping[str, str], folder: JvmFolder) -> ClientServer:
    """Start the JVM and tell pyspark to use it for the SparkContext to come.

    :raises JobFailedError: if it does not come up.
    """
    _prepare_environment()
    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    options = settings.get(_DRIVER_OPTIONS, "")
    log4j = f"-Dlog4j2.configurationFile={folder.log4j.as_uri()}"
    conf.set(_DRIVER_OPTIONS, f"{options} {log4j}".strip())
    with _opened(folder.log) as output, _spark_home(folder.spark_home):
        how = {"stdout": output, "stderr": output, "pass_fds": (folder.lock,)}
        try:
            gateway = launch_gateway(conf, how)
        except Exception as error:
            raise JobFailedError(
                "Spark's JVM did not start",
                got=f"{type(error).__name__}: {error}",
                todo=f"see Spark's log: {folder.keep_log()}",
            ) from None
    SparkContext._ensure_initialized(gateway=gateway)
    atexit.register(_end, gateway)
    return gateway


def _opened(log: Path) -> IO[bytes]:
    try:
        return log.open("ab")
    except OSError as error:
        raise ConfigurationError(
            "Spark's log cannot be written",
            where=f"configuration key {LOG_FILE.key}",
            got=f"{type(error).__name__}: {error}",
            todo="name a file in a folder that exists",
        ) from None


def _end(gateway: Any) -> None:
    """Let the JVM end and wait for it: what it still writes would outlive its folder."""
    process: subprocess.Popen[bytes] | None = gateway.proc
    if process is None or process.stdin is None:
        return
    process.stdin.close()
    try:
        process.wait(_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def jvm_pid() -> int | None:
    """Return the process id of the JVM that this process started, if it did."""
    gateway: Any = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    return None if process is None else int(process.pid)


@contextlib.contextmanager
def _spark_home(path: Path) -> Iterator[None]:
    """Let the JVM that is being started find Spark there, unless the user chose a Spark."""
    if os.environ.get("SPARK_HOME"):
        yield
        return
    os.environ["SPARK_HOME"] = str(path)
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]


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
