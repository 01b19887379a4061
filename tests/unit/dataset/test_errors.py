"""Mistakes in DataSet programs are told on the user's line."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.dataset import ExecutionEnvironment
from penstock.errors import (
    GraphError,
    PenstockError,
    SinkError,
    SourceError,
    TypeMismatchError,
    UserFunctionError,
)


@pytest.fixture
def env() -> ExecutionEnvironment:
    return ExecutionEnvironment.create_collections_environment()


def _line(text: str) -> str:
    number = 1 + Path(__file__).read_text().splitlines().index(f"        {text}")
    return f"{__file__}:{number}"


def test_a_function_that_raises_is_told_with_operator_record_and_line(
    env: ExecutionEnvironment,
) -> None:
    with pytest.raises(UserFunctionError) as caught:
        env.from_elements(2, 1, 0).map(lambda n: 10 // n).name("divide").collect()
    error = caught.value
    line = _line('env.from_elements(2, 1, 0).map(lambda n: 10 // n).name("divide").collect()')
    assert error.what.startswith("operator 'divide' raised ZeroDivisionError")
    assert error.where == f"operator 'divide', built at {line}"
    assert error.got == "record 0"


def test_execute_without_a_sink(env: ExecutionEnvironment) -> None:
    with pytest.raises(GraphError) as caught:
        env.execute()
    assert caught.value.what == "there is nothing to execute: no sink was added"
    env.from_elements(1).collect()
    with pytest.raises(GraphError, match=r"collect\(\), count\(\) and print\(\) execute by"):
        env.execute()


def test_a_key_on_a_missing_field(env: ExecutionEnvironment) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        env.from_elements(("a", 1)).group_by(2)
    line = _line('env.from_elements(("a", 1)).group_by(2)')
    assert caught.value.what == "the record has no field 2"
    assert caught.value.where == f"group_by() at {line}"
    assert "('a', 1)" in str(caught.value.got)


def test_a_join_of_unlike_keys(env: ExecutionEnvironment) -> None:
    texts, numbers = env.from_elements(("1", "a")), env.from_elements((1, "b"))
    with pytest.raises(TypeMismatchError) as caught:
        texts.join(numbers).where(0).equal_to(0)
    assert caught.value.what == "the keys of join() are of unlike types, so they are never equal"
    assert caught.value.got == "str '1' on the first side, int 1 on the second"


def test_a_join_of_unlike_keys_that_only_running_it_shows(env: ExecutionEnvironment) -> None:
    texts = env.from_elements(("1", "a")).map(lambda r: r)
    numbers = env.from_elements((1, "b")).map(lambda r: r)
    with pytest.raises(TypeMismatchError, match="of unlike types"):
        texts.join(numbers).where(0).equal_to(0).collect()


def test_a_value_where_an_iterable_is_due(env: ExecutionEnvironment) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        env.from_elements(1).flat_map(lambda n: n).collect()
    assert caught.value.what == "the function returned a single value where an iterable is due"


def test_a_broken_csv_line_is_named(env: ExecutionEnvironment, tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_text("1,a\n2\n")
    with pytest.raises(SourceError) as caught:
        env.read_csv_file(path).types(int, str).collect()
    assert caught.value.where == f"{path}, line 2"
    assert caught.value.got == "'2': 1 fields, 2 are due"


def test_output_that_exists(env: ExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    env.from_elements(1).write_as_text(tmp_path / "out")
    with pytest.raises(SinkError, match="the output exists already"):
        env.execute()


def test_a_failed_subtask_leaves_no_output(env: ExecutionEnvironment, tmp_path: Path) -> None:
    data = env.from_elements(1, 0).map(lambda n: 1 // n)
    data.write_as_text(tmp_path / "out").set_parallelism(1)
    with pytest.raises(PenstockError):
        env.execute()
    assert list(tmp_path.iterdir()) == []


def test_data_sets_of_two_environments(env: ExecutionEnvironment) -> None:
    other = ExecutionEnvironment.create_collections_environment().from_elements(1)
    with pytest.raises(GraphError, match="belong to different environments"):
        env.from_elements(1).union(other)


def test_an_iteration_that_does_not_use_its_own_data_set(env: ExecutionEnvironment) -> None:
    data = env.from_elements(1)
    loop = data.iterate(3)
    with pytest.raises(GraphError, match="does not use the iteration's own data set"):
        loop.close_with(data.map(lambda n: n))
