"""What the tests on a real Spark share: one session for all, environments made for each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.spark.session import open_session

#: Two cores, and a task may fail three times: a worker that dies must not end a job.
MASTER = "local[2,4]"

MakeEnvironment = Callable[..., StreamExecutionEnvironment]
RunProgram = Callable[..., AbstractContextManager["Program"]]


@pytest.fixture(scope="session")
def session() -> SparkSession:
    return open_session({"penstock.master": MASTER}, slots=2)


@pytest.fixture
def make_env(session: SparkSession) -> MakeEnvironment:
    def make(parallelism: int = 2, **settings: str) -> StreamExecutionEnvironment:
        configuration = Configuration()
        configuration.set_string("penstock.master", MASTER)
        for key, value in settings.items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism)
        return env

    return make


@pytest.fixture
def env(make_env: MakeEnvironment) -> StreamExecutionEnvironment:
    return make_env()


class Program:
    """A program in a process group of its own, with what it has printed."""

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        self.process = process
        self._errors = errors

    def kill(self) -> None:
        """End the program and everything that it started, as when a machine fails."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def finish(self, timeout: float = 300) -> str:
        """Wait for a good end and return what was printed."""
        output, _ = self.process.communicate(timeout=timeout)
        assert self.process.returncode == 0, output + self._errors.read_text()
        return output

    def wait_for_death(self, timeout: float = 300) -> None:
        """Wait until the program has killed itself."""
        self.process.communicate(timeout=timeout)
        assert self.process.returncode == -signal.SIGKILL, self._errors.read_text()


@pytest.fixture
def run_program(tmp_path: Path) -> RunProgram:
    errors = tmp_path / "stderr.txt"

    @contextmanager
    def run(path: Path, *arguments: object) -> Iterator[Program]:
        with errors.open("a") as stream:
            process = subprocess.Popen(
                [sys.executable, str(path), *map(str, arguments)],
                stdout=subprocess.PIPE,
                stderr=stream,
                text=True,
                start_new_session=True,
            )
        program = Program(process, errors)
        try:
            yield program
        finally:
            if process.poll() is None:
                program.kill()

    return run
