from __future__ import annotations

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream import stream_execution_environment as module
from penstock.testing.local_executor import LocalExecutor


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    """An environment of parallelism 2 that is not executed."""
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> StreamExecutionEnvironment:
    """An environment of parallelism 1 whose jobs run in this process."""
    monkeypatch.setattr(module, "find_executor", lambda name: LocalExecutor())
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
