from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from typing import Any

import pytest

from penstock.common import (
    CompletableFuture,
    JobClient,
    JobExecutionResult,
    JobID,
    JobStatus,
)
from penstock.errors import JobCancelledError, JobFailedError, ProgramError


class Handle:
    def __init__(self, failure: Exception | None = None) -> None:
        self.job_id = "a" * 32
        self.ended = threading.Event()
        self.failure = failure

    def status(self) -> JobStatus:
        return JobStatus.FINISHED if self.ended.is_set() else JobStatus.RUNNING

    def wait(self) -> JobExecutionResult:
        assert self.ended.wait(5)
        if self.failure is not None:
            raise self.failure
        return JobExecutionResult(self.job_id, 12, {"lines": 3})

    def cancel(self) -> None:
        self.ended.set()

    def accumulators(self) -> dict[str, Any]:
        return {"lines": 2}


class SavepointHandle(Handle):
    def trigger_savepoint(self, directory: str | None) -> str:
        return f"{directory}/savepoint-1"

    def stop_with_savepoint(self, advance: bool, directory: str | None) -> str:
        self.ended.set()
        return f"{directory}/savepoint-2-{advance}"


def test_a_client_asks_the_job() -> None:
    client = JobClient(Handle())
    result = client.get_job_execution_result()
    assert client.get_job_id() == JobID("a" * 32)
    assert client.get_job_status().result() is JobStatus.RUNNING
    assert client.get_accumulators().result() == {"lines": 2}
    assert not result.done()
    client.cancel().result(5)
    assert result.result(5).get_accumulator_result("lines") == 3
    assert client.get_job_status().result() is JobStatus.FINISHED


class SlowToEnd(Handle):
    """Go on for a while after it has been asked to end."""

    asked = False

    def cancel(self) -> None:
        self.asked = True
        threading.Timer(0.2, self.ended.set).start()

    def status(self) -> JobStatus:
        return JobStatus.CANCELED if self.ended.is_set() else JobStatus.RUNNING


def test_a_job_has_ended_when_its_cancellation_is_done() -> None:
    handle = SlowToEnd(JobCancelledError("the job was cancelled"))
    client = JobClient(handle)
    future = client.cancel()
    assert future.result(5) is None
    assert handle.asked
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_the_result_of_a_job_that_failed() -> None:
    client = JobClient(Handle(JobFailedError("no")))
    client.cancel()
    future = client.get_job_execution_result()
    assert isinstance(future.exception(5), JobFailedError)
    with pytest.raises(JobFailedError):
        future.result(5)


def test_savepoints_where_the_engine_has_them() -> None:
    client = JobClient(SavepointHandle())
    assert client.trigger_savepoint("s3://b").result(5) == "s3://b/savepoint-1"
    assert client.stop_with_savepoint(True, "s3://b").result(5) == "s3://b/savepoint-2-True"
    with pytest.raises(ProgramError) as caught:
        JobClient(Handle()).trigger_savepoint("s3://b")
    assert str(caught.value) == (
        "this executor cannot make savepoints\n"
        f"  where: JobClient.trigger_savepoint, job {'a' * 32}\n"
        "  to do: use retained checkpoints (execution.checkpointing.dir) to go on later"
    )


def test_the_result_prints_as_flink_prints_it() -> None:
    result = JobExecutionResult("ab", 12, {"lines": 3})
    assert str(result) == (
        "Program execution finished\nJob with JobID ab has finished.\nJob Runtime: 12 ms\n"
        "Accumulator Results:\n- lines: 3"
    )
    assert (result.get_net_runtime(), result.get_all_accumulator_results()) == (12, {"lines": 3})
    with pytest.raises(ProgramError) as caught:
        result.get_accumulator_result("words")
    assert str(caught.value) == (
        "the job has no accumulator 'words'\n  where: job ab\n  got:   accumulators: lines\n"
        "  to do: register it by get_runtime_context().add_accumulator(name, accumulator)"
    )


def test_job_ids_are_new_and_have_32_digits() -> None:
    assert JobID() != JobID()
    assert len(str(JobID())) == 32
    assert {JobID("a"): 1}[JobID("a")] == 1


@pytest.mark.parametrize(
    ("status", "terminal", "for_good"),
    [
        (JobStatus.RUNNING, False, False),
        (JobStatus.RESTARTING, False, False),
        (JobStatus.SUSPENDED, True, False),
        (JobStatus.FINISHED, True, True),
        (JobStatus.FAILED, True, True),
        (JobStatus.CANCELED, True, True),
    ],
)
def test_states_that_end_a_job(status: JobStatus, terminal: bool, for_good: bool) -> None:
    assert status.is_terminal_state() is terminal
    assert status.is_globally_terminal_state() is for_good


def test_a_future_that_is_cancelled_takes_no_value() -> None:
    future: CompletableFuture[int] = CompletableFuture()
    assert future.cancel()
    future.set_result(1)
    assert future.cancelled()
    with pytest.raises(CancelledError):
        future.result()
    assert not CompletableFuture.completed(1).cancel()
