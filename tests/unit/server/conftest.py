from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from penstock.errors import JobFailedError
from penstock.execution.facts.snapshot import JobSnapshot
from penstock.server.app import make_app
from penstock.server.jobs import Jobs, Submission
from tests.unit.server.samples import sample_job

ADDRESS = "http://localhost:8081"


class SampleJobs(Jobs):
    """Two jobs that stand still, and a note of what was asked of them."""

    takes_scripts = True
    takes_orders = True

    def __init__(self, folder: Path) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.submitted: list[Submission] = []
        self.folder = folder
        self.jobs = [
            sample_job(),
            sample_job("f" * 32, state="FINISHED", end_time=1_700_000_050_000),
        ]
        self.ended = False

    def all(self) -> list[JobSnapshot]:
        return self.jobs

    def ask(self, job_id: str, what: str, **arguments: Any) -> Any:
        self.asked.append((job_id, what, arguments))
        if arguments.get("directory") == "/bad":
            raise JobFailedError("the folder cannot be written")
        return 8 if what == "checkpoint" else "/sp/savepoint-1"

    def submit(self, submission: Submission) -> str:
        self.submitted.append(submission)
        return "e" * 32

    def settings(self) -> dict[str, object]:
        return {"rest.port": 8081, "db.password": "hunter2"}

    def uploads(self) -> Path:
        return self.folder

    def shut_down(self) -> None:
        self.ended = True


@pytest.fixture
def jobs(tmp_path: Path) -> SampleJobs:
    return SampleJobs(tmp_path)


@pytest.fixture
def client(jobs: SampleJobs) -> Iterator[TestClient]:
    with TestClient(make_app(jobs), base_url=ADDRESS) as client:
        yield client
