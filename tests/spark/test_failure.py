"""Errors on their way from a worker, and Spark's own in words for the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import JobFailedError, SourceError, UserFunctionError
from penstock.spark import failure, transport

STAGE_FAILURE = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most \
recent failure: Lost task 0.0 in stage 1.0 (TID 2) (127.0.0.1 executor driver): \
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 12, in main
    process()
{error}

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handle(PythonRunner.scala:1)
"""


@pytest.fixture(autouse=True)
def no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no log be kept for failures that only this test has seen."""
    monkeypatch.setattr(failure, "log_path", lambda: None)


def raised_in_a_worker(error: Exception) -> str:
    with pytest.raises(transport.WorkerError) as caught, transport.carried():
        raise error
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__
    text = f"{type(caught.value).__module__}.{type(caught.value).__name__}: {caught.value}"
    return STAGE_FAILURE.format(error=text)


def test_an_error_arrives_as_it_was_raised() -> None:
    sent = UserFunctionError("parse", site="job.py:3", record="'x'", cause="ValueError: no\n\tat x")
    text = raised_in_a_worker(sent)
    received = failure.translate(RuntimeError(text))
    assert type(received) is UserFunctionError
    assert vars(received) == vars(sent)


def test_a_bug_is_described() -> None:
    received = failure.translate(RuntimeError(raised_in_a_worker(KeyError("slot"))))
    assert isinstance(received, JobFailedError)
    assert received.what == "a task failed"
    assert received.got == "KeyError: 'slot'"
    assert str(received.where).startswith(__file__)


@pytest.mark.parametrize(
    ("said", "logged"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", ""),
        ("Job 0 cancelled because SparkContext was shut down", "java.lang.OutOfMemoryError: GC\n"),
    ],
)
def test_a_jvm_without_memory(
    said: str, logged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "spark.log"
    log.write_text(logged)
    monkeypatch.setattr(failure, "log_path", lambda: str(log))
    received = failure.translate(RuntimeError(said))
    assert received.what == "Spark's JVM ran out of memory"
    assert received.todo == f"give it more: spark.driver.memory (1g by default); its log: {log}"


def test_a_context_that_was_shut_down_for_another_reason() -> None:
    received = failure.translate(RuntimeError("cancelled because SparkContext was shut down"))
    assert received.what == "Spark could not run the job"


def test_a_penstock_error_of_the_users_process_is_left_alone() -> None:
    error = SourceError("gone")
    assert failure.translate(error) is error


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "RuntimeError"),
        (
            "[CANNOT_WRITE] Disk is full.\n=== Streaming Query ===\nx",
            "[CANNOT_WRITE] Disk is full.",
        ),
        (
            "An error occurred while calling o12.start.\n"
            ": java.io.IOException: Mkdirs failed to create x\n"
            "\tat org.apache.hadoop.fs.ChecksumFileSystem.create(ChecksumFileSystem.java:515)\n"
            "\t... 30 more\n",
            "IOException: Mkdirs failed to create x",
        ),
        (
            "Job aborted.\nCaused by: org.apache.spark.SparkException: one\n\tat a.b.C(D.java)\n"
            "Caused by: java.lang.IllegalStateException: no such stage\n",
            "IllegalStateException: no such stage",
        ),
        (
            "[PYTHON_DATA_SOURCE_ERROR] Failed to create it: Traceback (most recent call last):\n"
            '  File "worker.py", line 7, in <module>\n    import penstock\n'
            "ModuleNotFoundError: No module named 'penstock'\n SQLSTATE: 38000",
            "[PYTHON_DATA_SOURCE_ERROR] Failed to create it: ModuleNotFoundError: "
            "No module named 'penstock'",
        ),
    ],
)
def test_the_line_that_says_most(text: str, reason: str) -> None:
    error = failure.translate(RuntimeError(text))
    assert error.what == "Spark could not run the job"
    assert (error.got or "").removeprefix("Caused by: ") == reason
