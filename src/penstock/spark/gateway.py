"""Start Spark's JVM so that nothing of it reaches the user's terminal.

Everything that the JVM and the Python workers print goes to a log file. It is removed when the
process ends, unless a job failed: then its error names the file.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark
from py4j.clientserver import ClientServer
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from penstock.errors import JobFailedError

_LOG4J = """\
rootLogger.level = {level}
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
# These two warn of what a streaming job does all the time.
logger.state.name = org.apache.spark.sql.execution.python.streaming
logger.state.level = error
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
"""


class SparkLog:
    """The folder that holds what the JVM and the workers print."""

    def __init__(self, level: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-spark-"))
        self.path = self._folder / "spark.log"
        self.log4j = self._folder / "log4j2.properties"
        self.log4j.write_text(_LOG4J.format(level=level.lower()), encoding="utf-8")
        self._kept = False
        atexit.register(self._remove)

    def keep(self) -> str:
        """Return the path of the log, which from now on outlives the process."""
        self._kept = True
        return str(self.path)

    def _remove(self) -> None:
        if not self._kept:
            shutil.rmtree(self._folder, ignore_errors=True)


def start_jvm(settings: Mapping[str, str], log: SparkLog) -> ClientServer:
    """Start the JVM and tell pyspark to use it for the SparkContext to come.

    :raises JobFailedError: if it does not come up.
    """
    _prepare_environment()
    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    options = settings.get("spark.driver.extraJavaOptions", "")
    log4j = f"-Dlog4j2.configurationFile={log.log4j.as_uri()}"
    conf.set("spark.driver.extraJavaOptions", f"{options} {log4j}".strip())
    with log.path.open("ab") as output:
        try:
            gateway = launch_gateway(conf, {"stdout": output, "stderr": output})
        except Exception as error:
            raise JobFailedError(
                "Spark's JVM did not start",
                got=f"{type(error).__name__}: {error}",
                todo=f"see Spark's log: {log.keep()}",
            ) from None
    SparkContext._ensure_initialized(gateway=gateway)
    return gateway


def jvm_pid() -> int | None:
    """Return the process id of the JVM that this process started, if it did."""
    gateway: Any = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    return None if process is None else int(process.pid)


def _prepare_environment() -> None:
    # Workers must be the interpreter that runs the program, not the first python3 of the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    # Sets and dicts of strings are iterated in the same order in every worker.
    os.environ.setdefault("PYTHONHASHSEED", "0")
