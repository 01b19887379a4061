"""Start Spark's JVM so that nothing of it reaches the user's terminal.

Everything that the JVM and the Python workers print goes to a log file. It is removed when the
process ends, unless a job failed: then its error names the file.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyspark
from py4j.clientserver import ClientServer
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from penstock.errors import JobFailedError
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


class JvmFolder:
    """What the JVM of this process needs on disk: its log, and files that it reads at its start."""

    def __init__(self, log_level: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-spark-"))
        self.log = self._folder / "spark.log"
        self.log4j = self._folder / "log4j2.properties"
        self.log4j.write_text(_LOG4J.format(level=log_level.lower()), encoding="utf-8")
        self.jar = self._folder / "penstock.jar"
        local_files.write_jar(self.jar)
        self.spark_home = self._folder / "home"
        self._make_spark_home()
        self._kept = False
        atexit.register(self._remove)

    def keep_log(self) -> str:
        """Return the path of the log, which from now on outlives the process."""
        self._kept = True
        return str(self.log)

    def _make_spark_home(self) -> None:
        """Make a Spark home that differs from pyspark's own by having no `python` folder.

        From there workers would import pyspark out of a zip file, which has no compiled modules:
        each new worker would compile all of pyspark, for a second.
        """
        self.spark_home.mkdir()
        for name in ("bin", "jars", "sbin"):
            (self.spark_home / name).symlink_to(Path(pyspark.__file__).parent / name)

    def _remove(self) -> None:
        if not self._kept:
            shutil.rmtree(self._folder, ignore_errors=True)


def start_jvm(settings: Mapping[str, str], folder: JvmFolder) -> ClientServer:
    """Start the JVM and tell pyspark to use it for the SparkContext to come.

    :raises JobFailedError: if it does not come up.
    """
    _prepare_environment()
    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    options = settings.get("spark.driver.extraJavaOptions", "")
    log4j = f"-Dlog4j2.configurationFile={folder.log4j.as_uri()}"
    conf.set("spark.driver.extraJavaOptions", f"{options} {log4j}".strip())
    with folder.log.open("ab") as output, _spark_home(folder.spark_home):
        try:
            gateway = launch_gateway(conf, {"stdout": output, "stderr": output})
        except Exception as error:
            raise JobFailedError(
                "Spark's JVM did not start",
                got=f"{type(error).__name__}: {error}",
                todo=f"see Spark's log: {folder.keep_log()}",
            ) from None
    SparkContext._ensure_initialized(gateway=gateway)
    return gateway


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


def _prepare_environment() -> None:
    # py4j reports to the program's log what reaches the user as an error anyway.
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    # Workers must be the interpreter that runs the program, not the first python3 of the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # Sets and dicts of strings are iterated in the same order in every worker.
    os.environ.setdefault("PYTHONHASHSEED", "0")
