"""Everything of Spark that is not its public interface, and that the engine stands on.

It was written for one version of Spark, whose names it holds; another one may have moved any of
them. So a start on another version is refused, and a test fails: whoever raises the version looks
at each function of this module first.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pyspark
from py4j.clientserver import ClientServerConnection
from py4j.java_gateway import JavaObject
from pyspark import SparkContext, daemon
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway
from pyspark.serializers import NoOpSerializer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.util import _load_from_socket

from penstock.errors import ConfigurationError

WRITTEN_FOR = "4.3.0"

#: The main class of a JVM that pyspark can talk to. It runs until its standard input ends.
GATEWAY_MAIN = "org.apache.spark.api.python.PythonGatewayServer"
#: Where that JVM writes the port that it listens on, and the secret for it.
GATEWAY_INFO_VARIABLE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
#: The modules that Spark runs in Python processes of its own for a query of ours.
PYTHON_PROCESSES = (
    "pyspark.daemon",
    "pyspark.worker",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.streaming.transform_with_state_driver_worker",
)
_CALLBACK_CLIENT = "py4j.CallbackClient"
_IDLE_MONITOR = "Idle Worker Monitor"
_ON_UNCAUGHT = "java.lang.Thread$UncaughtExceptionHandler"
_SOURCE_MANAGER = "org.apache.spark.sql.execution.datasources.DataSourceManager$"
_STREAM_SINKS = "org.apache.spark.sql.execution.streaming.sources"
#: What Spark's JVM calls for each batch, by its Java name.
BATCH_FUNCTION = f"{_STREAM_SINKS}.PythonForeachBatchFunction"

_starting = threading.Lock()


def check_version() -> None:
    """Refuse a Spark that this module was not written for.

    :raises ConfigurationError: naming both versions.
    """
    if pyspark.__version__ != WRITTEN_FOR:
        raise ConfigurationError(
            "Penstock does not know this version of Spark",
            where=f"package pyspark in {os.path.dirname(pyspark.__file__)}",
            got=f"pyspark {pyspark.__version__}",
            todo=f"install pyspark=={WRITTEN_FOR}",
        )


# ---- the user's process and the JVM -----------------------------------------------------------


def connect_to_jvm(port: int, secret: str) -> Any:
    """Return py4j's gateway to a JVM that is running."""
    known = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    before = {name: os.environ.get(name) for name in known}
    os.environ.update(known)
    try:
        # pyspark takes a JVM that is there already, and tells it what its classes are called.
        return launch_gateway()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def use_gateway(gateway: Any) -> None:
    """Let the next SparkContext of this process be made in a JVM."""
    SparkContext._ensure_initialized(gateway=gateway)


def active_gateway() -> Any:
    """Return the gateway to the JVM of this process, None if there is none."""
    return SparkContext._gateway


def active_context() -> SparkContext | None:
    """Return the SparkContext of this process, the user's own too, None if there is none."""
    return SparkContext._active_spark_context


def forget_jvm() -> None:
    """Let pyspark forget a JVM that has ended, with all that was in it."""
    context: Any = SparkContext._active_spark_context
    gateway: Any = SparkContext._gateway
    server: Any = getattr(context, "_accumulatorServer", None)
    if server is not None:
        # In a thread: it waits for a loop that may have ended.
        threading.Thread(target=server.shutdown, daemon=True).start()
    # The port at which the JVM called this process.
    with contextlib.suppress(Exception):
        gateway.shutdown_callback_server(raise_exception=False)
    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkSession._instantiatedSession = None


def look_for_no_sources(session: SparkSession) -> None:
    """Tell Spark that it has found all Python data sources that are installed, and that it is none.

    It would look for them at the first use of any source, even of one that is registered: in a
    Python process that takes a second or two to start.
    """
    jvm: Any = session._jvm
    manager = getattr(getattr(jvm, _SOURCE_MANAGER), "MODULE$")
    none = jvm.PythonUtils.toScalaMap(jvm.java.util.HashMap())
    getattr(manager, "dataSourceBuilders_$eq")(jvm.scala.Option.apply(none))


def quiet_accumulators(context: SparkContext) -> None:
    """Let pyspark's server of accumulators print nothing when the JVM or a stranger hangs up.

    It would print a traceback for each, although the job's own error tells what has happened.
    """
    server: Any = getattr(context, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda request, address: logging.getLogger(__name__).debug(
            "a connection for accumulators has failed", exc_info=True
        )


def set_interpreter(context: SparkContext, path: str) -> None:
    """Let Spark start its Python processes with a program."""
    context.pythonExec = path


@contextmanager
def functions_get(
    context: SparkContext, variables: Mapping[str, str], interpreter: str | None
) -> Iterator[None]:
    """Give an environment to every function that is handed to Spark inside the block.

    Not for two threads at a time: pyspark reads both off the context, which all jobs share.
    """
    shared: Any = context
    before = shared.environment, shared.pythonExec
    shared.environment = {**shared.environment, **variables}
    shared.pythonExec = interpreter or shared.pythonExec
    try:
        yield
    finally:
        shared.environment, shared.pythonExec = before


def end_idle_monitors(session: SparkSession) -> None:
    """End threads of Spark that watch for idle workers where there are none.

    Spark makes a factory of workers for each process that it asks about a query: for its source
    and for its stateful levels. A factory has a thread that looks for idle workers for ever, also
    when the query has ended; one that forks no workers from a daemon never has any. It sleeps
    most of the time, and an interrupt ends it.
    """
    jvm: Any = session._jvm
    threads = jvm.java.lang.Thread.getAllStackTraces().keySet()
    monitors = [thread for thread in threads if thread.getName().startswith(_IDLE_MONITOR)]
    if not monitors:
        return
    factory_of = monitors[0].getClass().getDeclaredField("$outer")
    silence = _silent_end(session)
    for monitor in monitors:
        if not factory_of.get(monitor).useDaemonEnabled():
            monitor.setUncaughtExceptionHandler(silence)
            monitor.interrupt()


def _silent_end(session: SparkSession) -> Any:
    """Return what lets a Java thread end by an exception and say nothing."""
    gateway: Any = session.sparkContext._gateway
    named = gateway.jvm.java.lang.Class.forName
    parameters = gateway.new_array(gateway.jvm.java.lang.Class, 2)
    parameters[0], parameters[1] = named("java.lang.Thread"), named("java.lang.Throwable")
    invoke = gateway.jvm.java.lang.invoke
    nothing = gateway.jvm.java.lang.Void.TYPE
    handle = invoke.MethodHandles.empty(invoke.MethodType.methodType(nothing, parameters))
    return invoke.MethodHandleProxies.asInterfaceInstance(named(_ON_UNCAUGHT), handle)


# ---- the end of a batch -----------------------------------------------------------------------


def call_for_each_batch(session: SparkSession, writer: DataStreamWriter, function: Any) -> None:
    """Let a query that is not started yet call an object that implements `BATCH_FUNCTION`."""
    gateway: Any = session.sparkContext._gateway
    helper = getattr(gateway.jvm, f"{_STREAM_SINKS}.PythonForeachBatchHelper")
    helper.callForeachBatch(writer._jwrite, function)
    with _starting:
        ensure_callback_server_started(gateway)
        _ask_for_a_token(gateway)


def hadoop_sees(session: SparkSession, url: str) -> bool:
    """Tell whether Spark's own file systems have a file of that URL.

    :raises Exception: of py4j, if Spark has no file system for it or cannot reach it.
    """
    jvm: Any = session.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(url)
    configuration = session._jsparkSession.sessionState().newHadoopConf()
    return bool(path.getFileSystem(configuration).exists(path))


def _ask_for_a_token(gateway: Any) -> None:
    """Let the port at which Spark's JVM calls this process answer nobody else.

    Py4J can ask for a token there, but forgets it on the JVM's side when pyspark tells the JVM the
    port. Without it any user of the machine could end a job, or call its batch function.
    """
    parameters = gateway.callback_server_parameters
    if parameters.auth_token is not None:
        return
    token = secrets.token_hex(32)
    client = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()
    field = gateway.jvm.java.lang.Class.forName(_CALLBACK_CLIENT).getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(client, token)
    parameters.auth_token = gateway._callback_server.python_parameters.auth_token = token


def serving_connection() -> Any:
    """Return the connection to the JVM whose thread this is, None if it is another thread."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, ClientServerConnection):
            return owner
        frame = frame.f_back
    return None


class BatchReader:
    """Collect the rows of a batch from the plan that Spark has made already."""

    def __init__(self, session: SparkSession) -> None:
        jvm: Any = session._jvm
        # Looked up once: each step of such a name is a call to the JVM.
        self._scan_of_rdd = jvm.org.apache.spark.sql.execution.RDDScanExec
        self._collect_and_serve = jvm.org.apache.spark.api.python.PythonRDD.collectAndServe

    def messages(self, batch: Any) -> Iterator[bytes]:
        """Yield the rows of a batch as messages of Arrow's stream format."""
        plan = batch.logicalPlan()
        scan = self._scan_of_rdd(
            plan.output(),
            plan.rdd(),
            "batch",
            plan.outputPartitioning(),
            plan.outputOrdering(),
            plan.stream(),
        )
        served = self._collect_and_serve(batch.toArrowBatchRdd(scan))
        with _load_from_socket(served, NoOpSerializer()) as messages:
            yield from messages


# ---- workers ----------------------------------------------------------------------------------


def state_client(handle: StatefulProcessorHandle) -> Any:
    """Return the connection to the state store of a task; it has `set_implicit_key`."""
    return handle._statefulProcessorApiClient


class _NoCollection:
    """Stands in for the module `gc` where the daemon uses it."""

    @staticmethod
    def collect() -> int:
        return 0


class _Signals:
    """Stands in for the module `signal` where the daemon uses it."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self._on_end = on_end

    def __getattr__(self, name: str) -> Any:
        return getattr(signal, name)

    def signal(self, number: int, handler: Any) -> Any:
        """Set a handler; where the daemon wants none for the end of a child, one that tells."""
        if number == signal.SIGCHLD and handler == signal.SIG_IGN:
            return signal.signal(number, lambda *_: self._on_end())
        return signal.signal(number, handler)


def run_daemon_without_collections(on_end: Callable[[], None]) -> None:
    """Run the process that forks workers, which then do not collect garbage after every task.

    :param on_end: called when workers have ended; it waits for them.
    """
    daemon.gc = _NoCollection  # type: ignore[assignment]
    daemon.signal = _Signals(on_end)  # type: ignore[assignment]
    daemon.manager()
