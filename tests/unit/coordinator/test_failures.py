"""Whatever goes wrong in a connector ends the job with a text that names it; nothing hangs."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from penstock.core.io import Position, ReadLimit
from penstock.errors import JobCancelledError, SinkError, SourceError
from tests.unit.coordinator.fakes import Engine, SteeredSink, SteeredSource, output, plan_of


@pytest.fixture
def source() -> SteeredSource:
    return SteeredSource(a=1)


@pytest.fixture
def sink() -> SteeredSink:
    return SteeredSink()


def test_a_source_that_cannot_start(source: SteeredSource, tmp_path: Path) -> None:
    source.fail_at = "start"
    coordinator = Engine(plan_of(source), tmp_path).coordinator
    assert coordinator.finished.is_set()
    assert isinstance(coordinator.failure, SourceError)
    assert str(coordinator.failure) == (
        "a source cannot be started\n"
        "  where: operator 'numbers-1', built at orders_job.py:41\n"
        "  got:   ConnectionRefusedError: nobody listens on port 9999"
    )
    assert isinstance(coordinator.failure.__cause__, ConnectionRefusedError)
    with pytest.raises(SourceError):
        coordinator.initial_offset()


def test_a_source_that_cannot_be_asked(source: SteeredSource, tmp_path: Path) -> None:
    engine = Engine(plan_of(source), tmp_path, options={"poll_ms": 20_000})
    source.fail_at = "latest"
    assert engine.batch() is None
    assert str(engine.coordinator.failure) == (
        "a source cannot be read\n"
        "  where: operator 'numbers-1', built at orders_job.py:41\n"
        "  got:   OSError: the disk is gone"
    )


def test_a_source_that_cannot_be_planned(source: SteeredSource, tmp_path: Path) -> None:
    engine = Engine(plan_of(source), tmp_path)
    source.fail_at = "plan"
    engine.ask()
    with pytest.raises(SourceError):
        engine.plan_batch()
    assert str(engine.coordinator.failure) == (
        "a source cannot be planned\n"
        "  where: operator 'numbers-1', built at orders_job.py:41\n"
        "  got:   OSError: the disk is gone"
    )


def test_a_receiver_that_fails_ends_a_wait(source: SteeredSource, tmp_path: Path) -> None:
    engine = Engine(plan_of(source), tmp_path, options={"poll_ms": 20_000})
    engine.batch()
    timer = threading.Timer(0.02, lambda: source.enumerator.context.fail(EOFError("cut off")))
    timer.start()
    began = time.monotonic()
    assert engine.batch() is None
    assert time.monotonic() - began < 5
    assert engine.coordinator.finished.is_set()
    assert str(engine.coordinator.failure) == (
        "a source cannot be read\n"
        "  where: operator 'numbers-1', built at orders_job.py:41\n"
        "  got:   EOFError: cut off"
    )


def test_an_error_that_says_what_to_do_is_kept_and_gets_its_place(
    source: SteeredSource, tmp_path: Path
) -> None:
    engine = Engine(plan_of(source), tmp_path)
    source.enumerator.context.fail(SourceError("no such file", got="x.txt", todo="look again"))
    assert str(engine.coordinator.failure) == (
        "no such file\n"
        "  where: operator 'numbers-1', built at orders_job.py:41\n"
        "  got:   x.txt\n"
        "  to do: look again"
    )


def test_the_first_failure_counts(source: SteeredSource, tmp_path: Path) -> None:
    engine = Engine(plan_of(source), tmp_path)
    for text in ("first", "second"):
        source.enumerator.context.fail(EOFError(text))
    assert "first" in str(engine.coordinator.failure)


def test_a_failed_job_still_publishes_what_is_logged(
    source: SteeredSource, sink: SteeredSink, tmp_path: Path
) -> None:
    engine = Engine(plan_of(source, sink=sink), tmp_path)
    engine.work = lambda reads: output("before the failure")
    engine.batch()
    source.enumerator.context.fail(EOFError())
    engine.batch()
    engine.coordinator.close()
    assert sink.published == [(0, [b"before the failure"])]


def test_a_committer_that_fails_and_succeeds_after_a_restart(
    source: SteeredSource, sink: SteeredSink, tmp_path: Path
) -> None:
    engine = Engine(plan_of(source, sink=sink), tmp_path)
    engine.work = lambda reads: output("kept")
    sink.fail_at_batch = 0
    engine.batch()
    assert engine.batch() is None
    assert engine.coordinator.finished.is_set()
    assert isinstance(engine.coordinator.failure, SinkError)
    assert str(engine.coordinator.failure) == (
        "a sink cannot publish batch 0\n"
        "  where: operator 'archive', built at orders_job.py:41\n"
        "  got:   PermissionError: read-only database"
    )
    sink.fail_at_batch = None
    engine.coordinator.close()
    assert sink.published == []
    engine.restart()
    assert sink.published == [(0, [b"kept"])]


class NoCommitter(SteeredSink):
    def create_committer(self, context: object) -> SteeredSink:
        raise PermissionError("wrong password")


def test_a_committer_that_cannot_be_opened(source: SteeredSource, tmp_path: Path) -> None:
    coordinator = Engine(plan_of(source, sink=NoCommitter()), tmp_path).coordinator
    assert str(coordinator.failure) == (
        "a sink cannot be opened\n"
        "  where: operator 'archive', built at orders_job.py:41\n"
        "  got:   PermissionError: wrong password"
    )
    coordinator.close()


@pytest.mark.parametrize(
    ("position", "what"),
    [
        ({"splits": {"a": {"at": {1, 2}}}, "done": False}, "a position that is no JSON"),
        ({"splits": {}}, "something that is no position"),
        ([], "something that is no position"),
    ],
)
def test_a_position_that_cannot_be_logged(
    position: object, what: str, source: SteeredSource, tmp_path: Path
) -> None:
    engine = Engine(plan_of(source), tmp_path)
    source.enumerator.latest = lambda start, limit: position  # type: ignore[method-assign,assignment,return-value]
    assert engine.batch() is None
    failure = engine.coordinator.failure
    assert isinstance(failure, SourceError)
    assert failure.what == f"the enumerator returned {what}"
    assert failure.where == "operator 'numbers-1', built at orders_job.py:41"


def test_tuples_in_a_position_do_not_look_like_news(source: SteeredSource, tmp_path: Path) -> None:
    engine = Engine(plan_of(source), tmp_path)

    def latest(start: Position, limit: ReadLimit) -> Position:
        return {"splits": {"a": {"at": (1, 2), "subtask": 0, "done": False}}, "done": False}

    source.enumerator.latest = latest  # type: ignore[method-assign]
    source.enumerator.plan = lambda start, end: [[]]  # type: ignore[method-assign]
    assert engine.batch() is not None
    assert engine.batch() is None


def test_a_plan_for_the_wrong_number_of_subtasks(source: SteeredSource, tmp_path: Path) -> None:
    engine = Engine(plan_of(source, parallelism=2), tmp_path)
    source.enumerator.plan = lambda start, end: [[]]  # type: ignore[method-assign]
    engine.ask()
    with pytest.raises(SourceError) as caught:
        engine.plan_batch()
    assert str(caught.value) == (
        "the enumerator planned for a wrong number of subtasks\n"
        "  where: operator 'numbers-1', built at orders_job.py:41\n"
        "  got:   1 lists of ranges, parallelism 2\n"
        "  to do: return one list for each subtask from plan(), empty ones too"
    )


def test_cancelling_ends_a_wait_at_once(source: SteeredSource, tmp_path: Path) -> None:
    engine = Engine(plan_of(source), tmp_path, options={"poll_ms": 20_000})
    engine.batch()
    threading.Timer(0.02, engine.coordinator.cancel).start()
    began = time.monotonic()
    assert engine.batch() is None
    assert time.monotonic() - began < 5
    assert engine.coordinator.finished.wait(5)
    assert engine.coordinator.cancelled
    assert engine.coordinator.failure is None
    assert source.enumerator.closed == 1


def test_a_batch_under_way_when_the_job_is_cancelled(
    source: SteeredSource, sink: SteeredSink, tmp_path: Path
) -> None:
    engine = Engine(plan_of(source, sink=sink), tmp_path)
    engine.work = lambda reads: output("under way")
    engine.ask()
    engine.plan_batch()
    engine.coordinator.cancel()
    source.enumerator.context.fail(ConnectionResetError())
    with pytest.raises(JobCancelledError):
        engine.plan_batch()
    engine.coordinator.commit(0, [])
    engine.coordinator.close()
    assert engine.coordinator.failure is None
    assert source.enumerator.closed == 1


def test_trouble_in_closing_is_no_failure_of_the_job(source: SteeredSource, tmp_path: Path) -> None:
    source.ended = True
    source.fail_at = "close"
    engine = Engine(plan_of(source), tmp_path)
    engine.batches()
    engine.coordinator.close()
    assert engine.coordinator.finished.is_set()
    assert engine.coordinator.failure is None


def test_a_report_that_cannot_be_read_fails_the_batch(
    source: SteeredSource, tmp_path: Path
) -> None:
    engine = Engine(plan_of(source), tmp_path)
    engine.ask()
    engine.plan_batch()
    with pytest.raises(Exception, match="invalid load key"):
        engine.coordinator.commit(0, [b"nonsense"])
    assert engine.coordinator.failure is not None
