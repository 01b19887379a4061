"""Mistakes in DataSet programs are told on the user's line."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.dataset import ExecutionEnvironment, Order
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
    assert str(caught.value) == (
        "there is nothing to execute: no sink was added\n"
        f"  where: execute() at {_line('env.execute()')}\n"
        "  to do: add a sink (write_as_text(), output() ...), or leave this execute() out"
    )
    with pytest.raises(GraphError) as caught:
        env.get_execution_plan()
    assert caught.value.where == f"get_execution_plan() at {_line('env.get_execution_plan()')}"
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


def test_a_key_on_a_field_that_only_some_records_miss(env: ExecutionEnvironment) -> None:
    data = env.from_elements(("a", 1), ("b",)).name("pairs")
    with pytest.raises(TypeMismatchError) as caught:
        data.group_by(1).reduce_group(lambda rs: rs).name("groups").collect()
    line = _line('data.group_by(1).reduce_group(lambda rs: rs).name("groups").collect()')
    assert caught.value.what == "the record has no field 1"
    assert caught.value.where == f"operator 'groups', built at {line}"
    assert "('b',)" in str(caught.value.got)
    with pytest.raises(TypeMismatchError, match="the record has no field 1"):
        data.sort_partition(1, Order.ASCENDING).collect()


def test_a_join_of_unlike_keys(env: ExecutionEnvironment) -> None:
    texts, numbers = env.from_elements(("1", "a")), env.from_elements((1, "b"))
    with pytest.raises(TypeMismatchError) as caught:
        texts.join(numbers).where(0).equal_to(0)
    assert caught.value.what == "the keys of join() are of unlike types, so they are never equal"
    assert str(caught.value) == (
        "the keys of join() are of unlike types, so they are never equal\n"
        f"  where: {_line('texts.join(numbers).where(0).equal_to(0)')}\n"
        "  got:   str '1' on the first side, int 1 on the second\n"
        "  to do: convert one of the two keys, for instance with a key selector function"
    )


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
    path.write_text("1,a\nx,b\n")
    with pytest.raises(SourceError) as caught:
        env.read_csv_file(path).types(int, str).collect()
    assert caught.value.where == f"{path}, line 2"
    assert "'x'" in str(caught.value.got)
    lenient = env.read_csv_file(path).ignore_invalid_lines().types(int, str)
    assert lenient.collect() == [(1, "a")]


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
