"""A session with jobs on Spark: killed drivers and killed sessions lose nothing."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.server.samples import JOB_ID
from tests.unit.server.test_session import RunningSession, until

PROGRAM = Path(__file__).parent / "programs" / "endless_counts.py"
#: Requests of Flink's own command line (`scripts/record_flink_cli.py`).
RECORDED = json.loads((Path(__file__).parents[1] / "cases" / "rest" / "flink_cli.json").read_text())
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

    folder = tmp_path / "savepoints"
    assert {job["jid"] for job in _flink(session, "list")["jobs"]} == set(outputs)
    assert _flink(session, "checkpoint", first)["operation"]["checkpointId"] > 0
    assert Path(_flink(session, "savepoint", first, folder)["operation"]["location"]).is_dir()
    for job, output in outputs.items():
        assert "location" in _flink(session, "stop", job, folder)["operation"]
        until(lambda job=job: session.states()[job] == "FINISHED", PATIENCE)
        _check(output)


def _flink(session: RunningSession, command: str, job: str = "", folder: Path = Path()) -> Any:
    """Send what Flink's own command line asks, and return the last answer."""
    answer: dict[str, Any] = {}
    for request in RECORDED[command]["requests"]:
        path = request["path"].replace(JOB_ID, job)
        if "request-id" in answer:
            path = f"{path.rpartition('/')[0]}/{answer['request-id']}"
            until(lambda path=path: session.ask(path)["status"]["id"] == "COMPLETED", PATIENCE)
        body = json.loads(json.dumps(request["body"]).replace('"/sp"', json.dumps(str(folder))))
        answer = session.ask(path, request["verb"], body)
    return answer


def _check(output: Path) -> None:
    """Each digit's count goes on from one: none is left out, none is there twice."""
    found = sorted(tuple(map(int, line.split())) for line in _lines(output))
    assert len(found) > 60
    for digit in range(10):
        counts = [count for of, count in found if of == digit]
        assert counts == list(range(1, len(counts) + 1))
