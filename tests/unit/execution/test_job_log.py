"""Logs of ended jobs: how many stay where nobody asked for them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from penstock.common.options import LOG_DIR
from penstock.execution import job_log
from penstock.execution.job_log import close_log, open_log


@pytest.fixture(autouse=True)
def three_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_log, "_KEPT", 3)
    monkeypatch.setattr(job_log, "_ended", type(job_log._ended)())


def run_job(name: str, settings: dict[str, str]) -> Path:
    log = open_log(name, settings)
    log.say(logging.INFO, "began")
    close_log(name)
    return log.path


def test_the_last_logs_of_a_process_stay_and_older_ones_go() -> None:
    paths = [run_job(f"kept-{number}", {}) for number in range(5)]
    assert [path.exists() for path in paths] == [False, False, True, True, True]
    assert not paths[0].parent.exists()


def test_the_log_of_a_running_job_stays() -> None:
    running = open_log("still-running", {})
    running.say(logging.INFO, "began")
    for number in range(5):
        run_job(f"beside-{number}", {})
    assert running.path.exists()
    close_log("still-running")


def test_logs_in_a_folder_of_the_users_own_stay(tmp_path: Path) -> None:
    settings = {LOG_DIR.key: str(tmp_path)}
    paths = [run_job(f"own-{number}", settings) for number in range(5)]
    assert all(path.exists() for path in paths)


def test_a_log_has_no_secrets(tmp_path: Path) -> None:
    log = open_log("secrets", {LOG_DIR.key: str(tmp_path), "db.password": "hunter2"})
    try:
        raise ValueError("not hunter2")
    except ValueError as error:
        log.say(logging.ERROR, "connects with hunter2 to db://me:pw@host", error)
    close_log("secrets")
    written = log.path.read_text()
    assert "connects with ****** to db://me:******@host" in written
    assert "ValueError: not ******" in written and "hunter2" not in written
