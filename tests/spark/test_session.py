"""Sessions: one context for all jobs, settings of each job its own, the user's wishes first."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from pathlib import Path
from types import ModuleType

import pyspark
import pytest
from pyspark.sql import SparkSession

from penstock.errors import ConfigurationError
from penstock.spark.gateway import jvm_pid, spark_jars
from penstock.spark.session import open_session
from penstock.spark.settings import context_settings, session_settings


def commands_of_children(parent: int | None) -> list[str]:
    commands = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                commands.append((folder / "cmdline").read_text())
    return commands


def test_jobs_share_the_context_and_nothing_else(session: SparkSession) -> None:
    one, two = open_session({}, 3), open_session({"spark.sql.ansi.enabled": "false"}, 5)
    assert one.sparkContext is two.sparkContext is session.sparkContext
    assert one.conf.get("spark.sql.shuffle.partitions") == "3"
    assert two.conf.get("spark.sql.shuffle.partitions") == "5"
    assert two.conf.get("spark.sql.ansi.enabled") == "false"


def test_spark_looks_for_no_sources_in_installed_packages(session: SparkSession) -> None:
    """To look for them, Spark would start a daemon, which stays."""
    state = open_session({}, 1)._jsparkSession.sessionState()
    assert not state.dataSourceManager().dataSourceExists("no source of this name")
    assert "lookup_data_sources" not in " ".join(commands_of_children(jvm_pid()))


def test_a_stranger_at_the_accumulators_port_prints_nothing(
    session: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    address = session.sparkContext._accumulatorServer.server_address
    with socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET) as stranger:
        stranger.connect(address)
        stranger.sendall(b"no token at all")
    total = session.sparkContext.accumulator(0)
    session.sparkContext.parallelize([1, 2], 1).foreach(total.add)
    assert total.value == 3
    assert capfd.readouterr().err == ""


def test_the_library_for_machine_learning_is_there_if_it_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def jars() -> list[str]:
        return sorted(os.path.basename(jar) for jar in spark_jars())

    own = sorted(path.name for path in (Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    (left_out,) = set(own) - set(jars())
    assert left_out.startswith("spark-mllib_")
    monkeypatch.setitem(sys.modules, "pyspark.ml", ModuleType("pyspark.ml"))
    assert jars() == own


def test_another_master_in_the_same_process(session: SparkSession) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_session({"penstock.master": "local[7]"}, 1)
    assert str(caught.value) == (
        "Spark is running already, on another master\n"
        "  where: configuration key penstock.master\n"
        "  got:   'local[7]', while this process uses 'local[2,4]'\n"
        "  to do: use one master in a process, or stop the SparkContext first"
    )


def test_keys_of_spark_are_passed_on() -> None:
    given = {
        "spark.ui.enabled": "true",
        "spark.driver.extraJavaOptions": "-XX:+UseG1GC -Dx=1",
        "spark.sql.shuffle.partitions": "200",
        "parallelism.default": "4",
    }
    settings = context_settings(given, Path("some.jar"))
    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.driver.extraJavaOptions"] == (
        "-XX:TieredStopAtLevel=1 -XX:CompileThresholdScaling=0.1 -Xss16m -XX:MetaspaceSize=256m "
        "-XX:ReservedCodeCacheSize=256m -XX:+UseG1GC -Dx=1"
    )
    assert "parallelism.default" not in settings
    assert session_settings(given, 6)["spark.sql.shuffle.partitions"] == "6"


def test_a_remote_master_gets_nothing_of_this_machine() -> None:
    settings = context_settings({"penstock.master": "spark://host:7077"}, Path("some.jar"))
    assert settings["spark.master"] == "spark://host:7077"
    assert not {"spark.driver.host", "spark.hadoop.fs.file.impl"} & set(settings)
