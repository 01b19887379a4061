from __future__ import annotations

import pytest

from penstock.errors import ConfigurationError
from penstock.execution import executor as module
from penstock.execution.executor import Executor, find_executor


class FakePoint:
    def __init__(self, name, loaded):
        self.name = name
        self._loaded = loaded

    def load(self):
        return self._loaded


class Nothing(Executor):
    def submit(self, request):
        raise AssertionError("not called")


def test_an_executor_is_found_by_its_entry_point(monkeypatch):
    monkeypatch.setattr(
        module, "entry_points", lambda group: [FakePoint("nothing", Nothing)] if group else []
    )
    assert isinstance(find_executor("nothing"), Nothing)


def test_spark_is_installed_with_the_package():
    names = {point.name for point in module.entry_points(group=module.EXECUTORS)}
    assert "spark" in names
    assert module.DEFAULT_EXECUTOR == "spark"


def test_an_unknown_executor_is_named_with_the_known_ones(monkeypatch):
    monkeypatch.setattr(
        module, "entry_points", lambda group: [FakePoint("b", Nothing), FakePoint("a", Nothing)]
    )
    with pytest.raises(ConfigurationError) as caught:
        find_executor("flink")
    assert str(caught.value) == (
        "there is no executor of that name\n"
        "  where: configuration key execution.target\n"
        "  got:   'flink'\n"
        "  to do: use one of: a, b"
    )
