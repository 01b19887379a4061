from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from starlette.testclient import TestClient

from penstock.errors import ConfigurationError
from penstock.server.answers.table import archive
from penstock.server.archives import Archives
from penstock.server.history import history_folders, main, make_history_app
from tests.unit.server.samples import sample_job

JOB = sample_job("f" * 32, state="FINISHED", end_time=1_700_000_050_000)
ADDRESS = "http://localhost:8082"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def folder(tmp_path):
    (tmp_path / JOB.job_id).write_text(json.dumps({"archive": archive(JOB)}))
    return tmp_path


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def client(folder, clock):
    app = make_history_app(Archives([folder]), refresh_seconds=10, clock=clock)
    with TestClient(app, base_url=ADDRESS) as client:
        yield client


def test_a_job_of_the_past_answers_as_it_did(client):
    overview = client.get("/jobs/overview").json()
    assert [job["jid"] for job in overview["jobs"]] == [JOB.job_id]
    assert client.get("/v1/jobs").json() == {"jobs": [{"id": JOB.job_id, "status": "FINISHED"}]}
    for entry in archive(JOB):
        if entry["path"].startswith("/jobs/" + JOB.job_id):
            answer = client.get(entry["path"] + "?since=5")
            assert (answer.status_code, answer.json()) == (200, json.loads(entry["json"]))


def test_the_pages_know_that_it_is_the_past(client):
    config = client.get("/config").json()
    features = config["features"]
    assert (features["web-history"], features["web-cancel"], features["web-submit"]) == (
        True,
        False,
        False,
    )
    assert config["refresh-interval"] == 10_000
    assert "Penstock" in client.get("/").text


def test_what_is_not_there_is_a_404_as_flinks(client):
    answer = client.get(f"/jobs/{JOB.job_id}/logs")
    assert answer.status_code == 404
    assert answer.json() == {"errors": [f"The archive has no answer for /jobs/{JOB.job_id}/logs"]}
    assert client.get("/jobs/../../etc/passwd").status_code == 404


def test_nothing_can_be_changed(client):
    for verb in ("PATCH", "POST", "DELETE"):
        answer = client.request(
            verb, f"/jobs/{JOB.job_id}", headers={"content-type": "application/json"}
        )
        assert answer.status_code == 405


def test_new_and_broken_archives_show_after_the_interval(client, folder, clock):
    assert client.get("/archives").json() == {"broken": []}
    (folder / ("0" * 32)).write_text("{")
    assert client.get("/archives").json() == {"broken": []}
    clock.now += 10
    (broken,) = client.get("/archives").json()["broken"]
    assert broken["name"].endswith("0" * 32)
    assert broken["reason"].startswith("it is not JSON")
    assert len(client.get("/jobs/overview").json()["jobs"]) == 1


def test_other_names_of_the_host_are_refused(folder):
    with TestClient(make_history_app(Archives([folder])), base_url="http://evil.example") as client:
        assert client.get("/jobs/overview").status_code == 403


def test_folders_come_from_the_settings():
    both = {
        "historyserver.archive.fs.dir": "/a,file:///b%20c",
        "jobmanager.archive.fs.dir": "/of/jobs",
    }
    assert list(map(str, history_folders(both))) == ["/a", "/b c"]
    assert list(map(str, history_folders({"jobmanager.archive.fs.dir": "/of/jobs"}))) == [
        "/of/jobs"
    ]
    with pytest.raises(ConfigurationError) as caught:
        history_folders({})
    assert str(caught.value) == (
        "the history server does not know where the archives are\n"
        "  where: penstock history start\n"
        "  got:   no historyserver.archive.fs.dir\n"
        "  to do: pass -D historyserver.archive.fs.dir=FOLDER, the folder that jobs have as "
        "jobmanager.archive.fs.dir"
    )


def test_what_is_wrong_with_the_command_is_told(folder, capsys):
    assert main([]) == 1
    assert "does not know where the archives are" in capsys.readouterr().err
    named = ["-D", f"historyserver.archive.fs.dir={folder}"]
    assert main([*named, "--address", "0.0.0.0"]) == 1
    assert "needs a token or mutual TLS" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert main([*named, "--port", str(other.getsockname()[1])]) == 1
    assert "Address already in use" in capsys.readouterr().err


def test_it_serves_until_it_is_told_to_end(folder):
    command = [sys.executable, "-m", "penstock.cli.main", "history", "start", "--port", "0"]
    setting = f"historyserver.archive.fs.dir={folder}"
    with subprocess.Popen([*command, "-D", setting], stdout=subprocess.PIPE, text=True) as server:
        try:
            line = server.stdout.readline()
            address = re.fullmatch(rf"History of {folder} at (http://[\d.:]+)\n", line)[1]
            with urllib.request.urlopen(f"{address}/jobs/overview", timeout=60) as answer:
                assert json.load(answer)["jobs"][0]["jid"] == JOB.job_id
            os.kill(server.pid, signal.SIGTERM)
            server.wait(60)
        finally:
            server.kill()
