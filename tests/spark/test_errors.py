"""What a user reads when a job fails: the full text, and nothing of the JVM."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import JobFailedError, SerializationError, UnstableKeyError, UserFunctionError
from penstock.spark.directory import folder_name
from tests.spark.conftest import MakeEnvironment

HERE = Path(__file__).name


def invert(value: int) -> float:
    return 1 / value


def line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line and "line_of" not in line)


def test_a_function_that_raises_in_level_0(
    env: StreamExecutionEnvironment, capfd: pytest.CaptureFixture[str]
) -> None:
    env.from_collection([2, 1, 0]).map(invert).name("invert").print()
    with pytest.raises(UserFunctionError) as caught:
        env.execute("division")
    error = caught.value
    text = str(error)
    assert text.splitlines()[:4] == [
        "invert() of operator 'invert' raised ZeroDivisionError: division by zero",
        f"  where: operator 'invert', built at {error.site}",
        "  got:   record 0",
        "  to do: correct the function, or catch the exception inside it",
    ]
    assert str(error.site).endswith(f"{HERE}:{line_of('.map(invert).name')}")
    assert f'{HERE}", line {line_of("return 1 / value")}, in invert' in text
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert "java" not in text.lower() and "spark" not in text.replace(str(Path(__file__)), "")
    assert capfd.readouterr().err == ""


def test_a_function_that_raises_in_a_slot(env: StreamExecutionEnvironment) -> None:
    pairs = [("a", 1), ("a", 2), ("b", 3)]
    stream = env.from_collection(pairs).key_by(lambda pair: pair[0])
    stream.reduce(lambda a, b: (a[0], a[1] / 0)).name("ratio").print()
    with pytest.raises(UserFunctionError) as caught:
        env.execute("ratio")
    assert str(caught.value).startswith(
        "operator 'ratio' raised ZeroDivisionError: division by zero\n"
        "  where: operator 'ratio', built at "
    )


def test_a_closure_that_cannot_be_pickled(env: StreamExecutionEnvironment) -> None:
    lock = threading.Lock()
    env.from_collection([1]).map(lambda value: (lock, value)).name("locked").print()
    with pytest.raises(SerializationError) as caught:
        env.execute("closure")
    assert "'locked' cannot be sent to the workers" in str(caught.value)
    assert "variable 'lock' is a lock" in str(caught.value)


def test_a_key_that_is_another_in_each_process(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).key_by(lambda value: object()).sum().print()
    with pytest.raises(UnstableKeyError) as caught:
        env.execute("keys")
    assert "its hash is its address in memory" in str(caught.value)


def test_a_failure_outside_of_the_users_functions_names_the_log(
    make_env: MakeEnvironment, tmp_path: Path
) -> None:
    env = make_env(**{"execution.checkpointing.dir": str(tmp_path)})
    spark = tmp_path / folder_name("broken") / "spark"
    spark.mkdir(parents=True)
    (spark / "offsets").write_text("a file where Spark wants a folder")
    env.from_collection([1]).print()
    with pytest.raises(JobFailedError) as caught:
        env.execute("broken")
    what, got, todo = str(caught.value).splitlines()
    assert what == "Spark could not run the job"
    assert got.startswith("  got:   ") and str(spark) in got
    assert todo.startswith("  to do: see Spark's log: ")
    assert Path(todo.partition("log: ")[2]).is_file()
    # A job that failed can be taken up again.
    assert spark.parent.is_dir()
