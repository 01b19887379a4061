"""What can be found out before Spark is started is found out before it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.common import Configuration
from penstock.connectors.collection import CollectionSource
from penstock.core.io import CheckContext
from penstock.datastream import StreamExecutionEnvironment
from penstock.spark import executor
from penstock.spark.directory import folder_name

PROGRAM = Path(__file__).parent / "programs" / "refused.py"


def test_spark_is_not_started_for_a_job_that_cannot_work(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    shown = done.stdout.splitlines()
    assert shown[0].startswith("port: SourceError: cannot connect to localhost:"), done.stderr
    assert shown[1:3] == [
        "file: SourceError: there is no such file or folder, and no file that matches it as a "
        "pattern",
        "output: SinkError: the output cannot be written",
    ]
    assert shown[3].startswith("function: SerializationError: ")
    assert shown[4:6] == [
        "numbers: ConfigurationError: the interpreter for the workers was not found",
        "numbers: ConfigurationError: the checkpoint directory cannot be written",
    ]
    assert shown[6:] == [
        "numbers: ConfigurationError: the setting has a value that cannot work",
        "JVM: None",
    ]


class Reached(Exception):
    """Spark would be started now."""


@pytest.mark.parametrize("resumes", [False, True])
def test_a_job_that_may_go_on_is_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resumes: bool
) -> None:
    def start(*arguments: object) -> None:
        raise Reached

    checked: list[str] = []

    def check(source: CollectionSource, context: CheckContext) -> None:
        checked.append(context.operator)

    monkeypatch.setattr(executor, "open_session", start)
    monkeypatch.setattr(CollectionSource, "check", check)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(_settings(tmp_path))
    env.from_collection([1]).name("numbers").print()
    if resumes:
        (tmp_path / folder_name("job")).mkdir()
    with pytest.raises(Reached):
        env.execute("job")
    assert checked == ([] if resumes else ["Source: numbers"])


def _settings(folder: Path) -> Configuration:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", str(folder))
    return configuration
