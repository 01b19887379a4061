"""What holds for every test: which ones need Spark, their order, and who may load pyspark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TESTS = Path(__file__).parent
SERVICES = TESTS / "services"
#: What needs Java: Spark sessions, and servers such as Kafka.
ON_SPARK = {TESTS / "spark", SERVICES}


class NoSpark:
    """An import hook that makes an environment without pyspark out of one that has it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ModuleNotFoundError(f"{name} is not for the tests that run without Spark")
        return None


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("markexpr") == "not spark":
        sys.meta_path.insert(0, NoSpark())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if ON_SPARK.intersection(item.path.parents):
            item.add_marker(pytest.mark.spark)
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    """Fast tests first; then those with servers, the longest group that one process must run."""
    if item.get_closest_marker("spark") is None:
        return 0
    return 1 if SERVICES in item.path.parents else 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Say what one of several processes runs as a whole: a file; all that shares the servers."""
    # Only processes of pytest-xdist ask.
    from xdist.scheduler import LoadScopeScheduling

    class ByFileAndServers(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return "tests/services" if path.startswith("tests/services/") else path

    return ByFileAndServers(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # Looking for doctests imports a file, and with it would run the programs that tests run.
    if TESTS in collection_path.parents and collection_path.suffix == ".py":
        return None if collection_path.name.startswith(("test_", "conftest")) else True
    # Modules there may import pyspark, which is not to be had in such a run.
    if config.getoption("markexpr") == "not spark" and collection_path in ON_SPARK:
        return True
    return None
