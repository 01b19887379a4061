"""What is not Spark's public interface is in one module, for the one version that it names."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from penstock.errors import ConfigurationError
from penstock.spark import internals
from tests.arch.sources import ROOT, SRC
from tests.spark.conftest import MakeEnvironment
from tests.spark.test_savepoints import wait_until

#: Private names of pyspark's objects, and modules of its that are not for users.
PRIVATE = re.compile(
    r"(?:SparkContext|session|context|handle|writer|sparkContext)\._[a-z]"
    r"|\b_(?:jvm|gateway|jwrite|jsparkSession|jsc|jdf)\b"
    r"|pyspark\.(?:java_gateway|util|worker|daemon)\b(?! )"
    r"|from pyspark import .*\bdaemon\b"
    r"|org\.apache\.spark\."
)


def test_this_is_the_version_that_it_was_written_for() -> None:
    assert pyspark.__version__ == internals.WRITTEN_FOR, (
        "look at each function of penstock/spark/internals.py, then change WRITTEN_FOR"
    )
    assert f'"pyspark=={internals.WRITTEN_FOR}"' in (ROOT / "pyproject.toml").read_text()


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    internals.check_version()
    monkeypatch.setattr(pyspark, "__version__", "5.0.0")
    with pytest.raises(ConfigurationError) as caught:
        internals.check_version()
    folder = pyspark.__file__.removesuffix("/__init__.py")
    assert str(caught.value) == (
        "Penstock does not know this version of Spark\n"
        f"  where: package pyspark in {folder}\n"
        "  got:   pyspark 5.0.0\n"
        f"  to do: install pyspark=={internals.WRITTEN_FOR}"
    )


def test_no_other_module_reaches_into_spark() -> None:
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in sorted((SRC / "penstock" / "spark").rglob("*.py"))
        if path.name != "internals.py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PRIVATE.search(line)
    ]
    # Settings and loggers are named by Spark's classes, and are for users.
    public = ("settings.py", "gateway.py")
    assert [each for each in found if not each.startswith(public)] == []


@pytest.mark.parametrize("name", internals.PYTHON_PROCESSES)
def test_the_modules_of_its_processes_are_there(name: str) -> None:
    assert importlib.util.find_spec(name) is not None


def useless_monitors(session: SparkSession) -> int:
    """Count the threads that wait for idle workers of a factory which never has any."""
    threads: Any = session._jvm.java.lang.Thread.getAllStackTraces().keySet()
    monitors = [each for each in threads if each.getName().startswith("Idle Worker Monitor")]
    factory_of = [each.getClass().getDeclaredField("$outer").get(each) for each in monitors]
    return sum(not factory.useDaemonEnabled() for factory in factory_of)


def test_no_thread_stays_in_the_jvm_with_a_job(
    make_env: MakeEnvironment, session: SparkSession
) -> None:
    env = make_env(1)
    env.from_collection(["a"]).key_by(str).reduce(str.__add__).print()
    client = env.execute_async("watched")
    wait_until(lambda: useless_monitors(session) > 0)
    client.get_job_execution_result().result()
    wait_until(lambda: useless_monitors(session) == 0)
