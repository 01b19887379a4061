"""Flink's own command line against our server.

Its requests were recorded (`scripts/record_flink_cli.py`) and are sent again here. With
PENSTOCK_FLINK_HOME set to a Flink (or to PyFlink's package folder) the command line itself runs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from penstock.server.app import make_app
from penstock.server.listening import listen
from tests.unit.server.conftest import SampleJobs
from tests.unit.server.samples import JOB_ID

RECORDED = json.loads((Path(__file__).parents[2] / "cases" / "rest" / "flink_cli.json").read_text())
FLINK_HOME = os.environ.get("PENSTOCK_FLINK_HOME")
#: What the jobs are asked to do by each command.
ASKED: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "list": [],
    "cancel": [("cancel", {})],
    "cancel with savepoint": [("cancel-with-savepoint", {"directory": "/sp"})],
    "stop": [("stop", {"drain": False, "directory": "/sp"})],
    "stop with drain": [("stop", {"drain": True, "directory": "/sp"})],
    "savepoint": [("savepoint", {"directory": "/sp"})],
    "checkpoint": [("checkpoint", {})],
    "savepoint that fails": [("savepoint", {"directory": "/bad"})],
    "cancel of nothing": [],
}


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_recorded_requests_do_what_the_command_says(
    client: TestClient, jobs: SampleJobs, name: str
) -> None:
    fails, trigger = name == "cancel of nothing", ""
    for request in RECORDED[name]["requests"]:
        headers = {"content-type": request["content-type"]}
        body = None if request["body"] is None else json.dumps(request["body"])
        path = re.sub(r"(?<=points/)[0-9a-f]{32}", trigger, request["path"])
        answer = client.request(request["verb"], path, content=body, headers=headers)
        assert answer.status_code in ((404,) if fails else (200, 202)), answer.text
        trigger = answer.json().get("request-id", trigger)
    assert jobs.asked == [(JOB_ID, what, arguments) for what, arguments in ASKED[name]]


def test_what_it_printed_was_right() -> None:
    printed = {name: "\n".join(found["printed"]) for name, found in RECORDED.items()}
    assert f": {JOB_ID} : sample (RUNNING)" in printed["list"]
    assert "---------------------- Terminated Jobs -----------------------" in printed["list"]
    assert f"Cancelled job {JOB_ID}." in printed["cancel"]
    for name in ("stop", "stop with drain", "savepoint"):
        assert "Savepoint completed. Path: /sp/savepoint-1" in printed[name]
    assert f"Checkpoint 8 for job {JOB_ID} completed." in printed["checkpoint"]
    assert RECORDED["cancel of nothing"]["code"] == RECORDED["savepoint that fails"]["code"] == 1


if FLINK_HOME:

    @pytest.fixture
    def address(jobs: SampleJobs) -> Iterator[str]:
        listener = listen("127.0.0.1", 0)
        server = uvicorn.Server(uvicorn.Config(make_app(jobs), log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()

    @pytest.mark.parametrize(
        "command",
        [
            ["list", "-a"],
            ["cancel", JOB_ID],
            ["stop", "-p", "/sp", JOB_ID],
            ["savepoint", JOB_ID, "/sp"],
            ["checkpoint", JOB_ID],
        ],
    )
    def test_flinks_own_command_line(address: str, command: list[str]) -> None:
        flink = os.path.join(str(FLINK_HOME), "bin", "flink")
        done = subprocess.run(
            [flink, command[0], "-m", address, *command[1:]],
            capture_output=True, text=True, timeout=250,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        told = {"list": "sample (RUNNING)", "cancel": "Cancelled job"}
        assert told.get(command[0], "completed") in done.stdout
