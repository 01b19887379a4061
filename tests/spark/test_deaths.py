"""A function ends its worker, in every way there is: the error names operator, cause and remedy."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import JobFailedError, PenstockError, UserFunctionError
from penstock.spark import failure, last_words
from tests.spark.conftest import MakeEnvironment


def leave(value: int) -> int:
    sys.exit(3)


def interrupt(value: int) -> int:
    raise KeyboardInterrupt


def leave_at_once(value: int) -> int:
    os._exit(4)


def crash(value: int) -> int:
    return len(ctypes.string_at(0))


def be_killed(value: int) -> int:
    time.sleep(1)  # long enough to be seen at work
    os.kill(os.getpid(), signal.SIGKILL)
    return value


def failed(make_env: MakeEnvironment, function: Callable[[int], int]) -> PenstockError:
    env = make_env(parallelism=1)
    stream = env.from_collection([1, 2]).map(lambda n: n).name("before").rebalance()
    stream.map(lambda n: n).name("beside").map(function).name("deadly").print()
    with pytest.raises(PenstockError) as caught:
        env.execute("deadly")
    lines = str(caught.value).splitlines()
    assert lines[1].startswith("  where: operator 'deadly', built at ")
    assert lines[1].split(":")[-2].endswith(Path(__file__).name)
    return caught.value


@pytest.mark.parametrize(
    ("function", "cause"), [(leave, "SystemExit: 3"), (interrupt, "KeyboardInterrupt")]
)
def test_what_would_end_the_process(
    make_env: MakeEnvironment, function: Callable[[int], int], cause: str
) -> None:
    error = failed(make_env, function)
    assert isinstance(error, UserFunctionError)
    lines = str(error).splitlines()
    assert lines[0] == f"{function.__name__}() of operator 'deadly' raised {cause}"
    assert lines[2] == "  got:   record 1"
    assert lines[3] == (
        "  to do: raise an exception in its place: the process is not the function's to end"
    )


def test_a_function_that_ends_the_process_at_once(make_env: MakeEnvironment) -> None:
    error = failed(make_env, leave_at_once)
    assert isinstance(error, JobFailedError)
    assert error.what == "a worker process was ended by what ran in it"
    assert error.got == "exit code 4"
    assert error.todo == (
        "raise an exception in place of os._exit(): the process is not the function's"
    )


def test_a_killed_worker(make_env: MakeEnvironment) -> None:
    error = failed(make_env, be_killed)
    assert isinstance(error, JobFailedError)
    assert error.what == "a worker process was killed"
    assert str(error.got).startswith("signal 9 (SIGKILL); it held ")
    assert str(error.got).endswith(" MB")
    assert error.todo == (
        "if the machine had run out of memory (its system log says so), let functions hold less, "
        "lower penstock.batch.max-records or the parallelism"
    )


def test_a_crash_in_native_code(make_env: MakeEnvironment) -> None:
    env = make_env(parallelism=1)
    env.from_collection([1]).map(crash).name("deadly").print()
    with pytest.raises(JobFailedError) as caught:
        env.execute("deadly")
    error = caught.value
    assert error.what == "a worker process crashed inside native code"
    assert "operator 'deadly', built at " in str(error.where)
    assert str(error.got).startswith("signal 11 (SIGSEGV) in string_at() at ")
    assert error.todo == (
        "look at the native library that is called there: another version of it may help"
    )


def test_a_closed_stream_is_opened_again(
    env: StreamExecutionEnvironment, capfd: pytest.CaptureFixture[str]
) -> None:
    def close(value: int) -> int:
        if value == 1:
            sys.stdout.close()
        return value

    env.from_collection([1, 2]).map(close).key_by(lambda n: n).map(told).print()
    env.execute("closing")
    assert sorted(line.partition("> ")[2] for line in capfd.readouterr().out.splitlines()) == [
        "", "", "1", "2"
    ]  # fmt: skip


def told(value: int) -> int:
    print("told", value)
    return value


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure, "log_path", lambda: None)
    expected = (
        "there is no room on the disk for what the job must keep\n"
        "  where: /data/x\n"
        "  got:   No space left on device\n"
        "  to do: make room there, or let execution.checkpointing.dir and TMPDIR name another "
        "disk; with a checkpoint directory the job goes on where it was"
    )
    assert str(failure.translate(OSError(28, "No space left on device", "/data/x"))) == expected
    spark = RuntimeError("Caused by: java.io.IOException: No space left on device\n\tat a.b(C)")
    assert "no room on the disk" in str(failure.translate(spark))
    own = UserFunctionError("f", cause="OSError: [Errno 28] No space left on device")
    assert failure.translate(own) is own


def test_a_death_that_left_no_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_words, "_PATIENCE_SECONDS", 0.1)
    assert last_words.told_by(tmp_path) is None
    (tmp_path / "12.end").write_text("9")
    error = last_words.told_by(tmp_path)
    assert error is not None
    assert (error.what, error.where) == ("a worker process was killed", None)
    assert list(tmp_path.iterdir()) == []
