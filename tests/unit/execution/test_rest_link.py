"""Ids that a session chooses, where jobs leave their facts, and answers that end with a process."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from penstock.errors import ConfigurationError
from penstock.execution import job_ids
from penstock.execution.job_ids import JOB_ID_VARIABLE, new_job_id
from penstock.execution.rest_link import linked, token_header


def test_ids_are_random_unless_they_were_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(JOB_ID_VARIABLE, raising=False)
    assert new_job_id() != new_job_id()
    monkeypatch.setenv(JOB_ID_VARIABLE, "a" * 32)
    given = []
    for _ in range(2):
        # Another process of the same program gives its jobs the same ids.
        monkeypatch.setattr(job_ids, "_given", 0)
        given.append([new_job_id() for _ in range(3)])
    assert given[0] == given[1]
    assert given[0][0] == "a" * 32
    assert len({*given[0]}) == 3 and all(len(one) == 32 for one in given[0])


class Answer(BaseHTTPRequestHandler):
    asked: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Authorization")))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"facts-dir": "/state/by-hand"}')

    def log_message(self, *arguments: object) -> None:
        pass


def test_a_job_leaves_its_facts_where_the_session_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv(JOB_ID_VARIABLE, raising=False)
    token = tmp_path / "token"
    token.write_text("secret\n")
    Answer.asked = []
    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings = {
        "rest.address": "127.0.0.1",
        "rest.port": str(server.server_port),
        "penstock.rest.token-file": str(token),
    }
    assert linked(settings) == {**settings, "penstock.facts-dir": "/state/by-hand"}
    assert Answer.asked == [("/v1/penstock/session", "Bearer secret")]
    server.shutdown()
    server.server_close()
    # Without a session the job runs all the same.
    assert linked(settings) == settings
    assert "does not learn of the job" in caplog.text
    assert linked({"rest.port": "0"}) == {"rest.port": "0"}


def test_a_token_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "none"
    with pytest.raises(ConfigurationError) as caught:
        token_header({"penstock.rest.token-file": str(path)})
    assert str(caught.value) == (
        "the token cannot be read\n"
        "  where: configuration key penstock.rest.token-file\n"
        f"  got:   [Errno 2] No such file or directory: '{path}'\n"
        "  to do: name the file that the session was started with"
    )
