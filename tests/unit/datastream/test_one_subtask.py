"""Behind a source of one subtask records keep their order, where nothing asks for more subtasks."""

from __future__ import annotations

import pytest

import penstock.datastream.stream_execution_environment as module
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.testing.local_executor import LocalExecutor

NUMBERS = list(range(20))


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch) -> StreamExecutionEnvironment:
    monkeypatch.setattr(module, "find_executor", lambda name: LocalExecutor())
    monkeypatch.setattr(
        StreamExecutionEnvironment, "get_default_local_parallelism", classmethod(lambda cls: 4)
    )
    return StreamExecutionEnvironment.get_execution_environment()


def parallelism(env: StreamExecutionEnvironment) -> dict[str, int]:
    return {op.name: op.parallelism for op in build_plan(env).operators}


def test_collected_and_printed_records_keep_their_order(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = env.from_collection(NUMBERS)
    assert list(stream.execute_and_collect()) == NUMBERS
    mapped = stream.map(lambda number: number).filter(lambda number: number != 5)
    assert list(mapped.execute_and_collect()) == [n for n in NUMBERS if n != 5]
    mapped.print()
    env.execute()
    assert capsys.readouterr().out.split() == [str(n) for n in NUMBERS if n != 5]


def test_an_exchange_goes_to_all_subtasks(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(NUMBERS)
    keyed = stream.map(lambda number: number).name("before").key_by(lambda number: number)
    keyed.reduce(lambda a, b: a).map(lambda number: number).name("behind").print()
    stream.rebalance().map(lambda number: number).name("dealt").print()
    stream.union(env.from_collection(NUMBERS)).map(lambda number: number).name("both").print()
    found = parallelism(env)
    assert (found["before"], found["behind"], found["dealt"], found["both"]) == (1, 4, 4, 4)


def test_a_parallelism_that_is_named_counts(env: StreamExecutionEnvironment) -> None:
    env.from_collection(NUMBERS).map(lambda number: number).name("own").set_parallelism(3).print()
    assert parallelism(env)["own"] == 3
    env.close()
    env.set_parallelism(2)
    env.from_collection(NUMBERS).map(lambda number: number).name("all").print()
    assert parallelism(env)["all"] == 2
    configuration = Configuration()
    configuration.set_string("parallelism.default", "5")
    other = StreamExecutionEnvironment.get_execution_environment(configuration)
    other.from_collection(NUMBERS).map(lambda number: number).name("all").print()
    assert parallelism(other)["all"] == 5


def test_a_collected_stream_keeps_its_order_whatever_the_parallelism(
    env: StreamExecutionEnvironment,
) -> None:
    env.set_parallelism(3)
    assert list(env.from_collection(NUMBERS).execute_and_collect()) == NUMBERS
