"""Spark's settings: what a job needs, and what was measured to make its batches short."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from penstock.common.options import MASTER
from penstock.execution.configuration import local_cores
from penstock.spark import local_files

_STREAMING = "spark.sql.streaming"
_STATE_STORE = f"{_STREAMING}.stateStore"

#: Fixed for the whole process: they are read when the JVM or the SparkContext starts.
_CONTEXT = {
    "spark.app.name": "penstock",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Several jobs in one process take turns instead of waiting for each other's batches.
    "spark.scheduler.mode": "FAIR",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "penstock.spark.daemon",
    # Bookkeeping for a UI that nobody looks at.
    "spark.ui.retainedJobs": "5",
    "spark.ui.retainedStages": "5",
    "spark.ui.retainedTasks": "50",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.executorEnv.PYTHONHASHSEED": "0",
}

#: Set on the session of each job.
_SESSION = {
    "spark.sql.adaptive.enabled": "false",
    # A batch has few rows, all of them large: code generated for it costs more than it saves.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # The default manager goes through Hadoop's FileContext, which costs 100 ms a batch.
    f"{_STREAMING}.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    f"{_STATE_STORE}.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    f"{_STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting rows would read every key before it is written.
    f"{_STATE_STORE}.rocksdb.trackTotalNumberOfRows": "false",
    f"{_STREAMING}.minBatchesToRetain": "10",
    f"{_STREAMING}.numRecentProgressUpdates": "10",
    # How long Spark sleeps after the source had nothing; the source itself waits for data.
    f"{_STREAMING}.pollingDelay": "1ms",
}


def master_of(configuration: Mapping[str, str]) -> str:
    """Return the Spark master: `penstock.master`, else the cores of this machine."""
    return MASTER.read(configuration) or f"local[{local_cores()}]"


def context_settings(configuration: Mapping[str, str], jar: Path | None) -> dict[str, str]:
    """Return what must be known when Spark starts; the user's own `spark.*` keys win.

    :param jar: as `local_files.write_jar` wrote it; None if the JVM was started without it.
    """
    master = master_of(configuration)
    settings = {"spark.master": master, **_CONTEXT}
    if master.startswith("local"):
        # Nothing leaves this machine, so no look-up of its name is needed.
        settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
        if jar is not None:
            settings["spark.driver.extraClassPath"] = str(jar)
            settings["spark.executor.extraClassPath"] = str(jar)
            settings["spark.hadoop.fs.file.impl"] = local_files.CLASS_NAME
    settings.update(_spark_keys(configuration))
    options = settings.get("spark.driver.extraJavaOptions", "")
    settings["spark.driver.extraJavaOptions"] = f"{_jvm_options(options)} {options}".strip()
    return settings


def session_settings(configuration: Mapping[str, str], slots: int) -> dict[str, str]:
    """Return the settings of one job's session; the user's own `spark.sql.*` keys win."""
    own = {k: v for k, v in _spark_keys(configuration).items() if k.startswith("spark.sql.")}
    # The number of slots is part of the plan: each has one partition.
    return {**_SESSION, **own, "spark.sql.shuffle.partitions": str(slots)}


def _spark_keys(configuration: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in configuration.items() if key.startswith("spark.")}


def _jvm_options(given: str) -> str:
    """Return options for the driver's JVM where the user has not chosen.

    Batches are short and far between: what counts is that the JVM is warm soon and leaves the
    cores to the workers. The second compiler takes longer to optimise than most jobs run. Most of
    what a batch runs it runs a few times only, so the first one compiles it after a tenth of the
    usual number of calls: else a method is interpreted for hundreds of batches. What it has
    compiled does not fit into the 48 MB that it is given by default: after half a minute it would
    throw half of it away and begin again. G1 collects on a core that a worker wants. Spark's
    classes fill the first 21 MB of metaspace, and then more, each time with a full collection.
    Spark walks a query's plan by recursion, and a job may have hundreds of exchanges in a row.
    """
    options = [] if re.search(r"-XX:\+Use\w+GC", given) else ["-XX:+UseParallelGC"]
    if "-XX:TieredStopAtLevel" not in given:
        options += ["-XX:TieredStopAtLevel=1", "-XX:CompileThresholdScaling=0.1"]
    if "-Xss" not in given:
        options.append("-Xss16m")
    if "-XX:MetaspaceSize" not in given:
        options.append("-XX:MetaspaceSize=256m")
    if "-XX:ReservedCodeCacheSize" not in given:
        options.append("-XX:ReservedCodeCacheSize=256m")
    return " ".join(options)
