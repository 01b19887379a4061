"""A session with jobs on Spark: killed drivers and killed sessions lose nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.server.test_session import RunningSession, until

PROGRAM = Path(__file__).parent / "programs" / "endless_counts.py"
#: A busy machine takes its time to start Spark.
PATIENCE = 240.0


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningSession]:
    # Sockets of jobs have short paths.
    monkeypatch.setenv("TMPDIR", "/tmp")
    monkeypatch.setenv("PENSTOCK_PARALLELISM", "1")
    session = RunningSession(tmp_path / "state")
    yield session
    session.end()


def _lines(output: Path) -> list[str]:
    files = [output] if output.is_file() else sorted(output.glob("[0-9]*"))
    return [line for file in files for line in file.read_text().splitlines()]


def _wait_for_more(output: Path, more: int = 30) -> None:
    seen = len(_lines(output))
    until(lambda: len(_lines(output)) >= seen + more, PATIENCE)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_jobs_outlive_kills_and_lose_nothing(session: RunningSession, tmp_path: Path) -> None:
    outputs = {
        session.submit(str(tmp_path / name), script=PROGRAM): tmp_path / name for name in "ab"
    }
    for job, output in outputs.items():
        until(lambda job=job: session.states().get(job) == "RUNNING", PATIENCE)
        _wait_for_more(output)
    first, second = outputs

    os.kill(session.driver(first), signal.SIGKILL)
    _wait_for_more(outputs[first])

    kept = session.driver(second)
    session.process.kill()
    session.process.wait()
    os.kill(session.driver(first), signal.SIGKILL)
    _wait_for_more(outputs[second])
    session.start()
    _wait_for_more(outputs[first])
    assert session.driver(second) == kept

    for job, output in outputs.items():
        body = {"targetDirectory": str(tmp_path / "savepoints"), "drain": False}
        asked = session.ask(f"/jobs/{job}/stop", "POST", body)
        place = f"/jobs/{job}/savepoints/{asked['request-id']}"
        until(lambda place=place: session.ask(place)["status"]["id"] == "COMPLETED", PATIENCE)
        assert "location" in session.ask(place)["operation"], session.ask(place)
        until(lambda job=job: session.states()[job] == "FINISHED", PATIENCE)
        _check(output)


def _check(output: Path) -> None:
    """Each digit's count goes on from one: none is left out, none is there twice."""
    found = sorted(tuple(map(int, line.split())) for line in _lines(output))
    assert len(found) > 60
    for digit in range(10):
        counts = [count for of, count in found if of == digit]
        assert counts == list(range(1, len(counts) + 1))
