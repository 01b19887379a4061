"""One session server and one browser for all tests of the dashboard."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tools.browser import headless_chromium

SHOP = Path(__file__).with_name("shop.py")
#: On a busy machine Spark takes its time to start.
PATIENCE = 240
PATIENCE_MS = PATIENCE * 1000


class Server:
    """A server process, asked over HTTP."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        self.address = address

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.address + path, data, {"content-type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            content = answer.read()
        return json.loads(content) if content else None

    def run(self, script: Path, *arguments: str, **settings: str) -> str:
        """Run a script and return the id of its job."""
        upload = {"name": script.name, "content": script.read_text()}
        script_id = self.ask("POST", "/scripts/upload", upload)["id"]
        body = {"programArgsList": arguments, "parallelism": 2, "flinkConfiguration": settings}
        return str(self.ask("POST", f"/scripts/{script_id}/run", body)["jobid"])

    def state(self, job: str) -> str:
        return str(self.ask("GET", f"/jobs/{job}/status")["status"])

    def wait(self, job: str, what: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until a job is so; return what is known of it."""
        until = time.monotonic() + PATIENCE
        while True:
            facts = self.ask("GET", f"/jobs/{job}")
            if what(facts):
                return dict(facts)
            assert time.monotonic() < until, facts
            time.sleep(0.3)


def start(command: list[str], log: Path) -> Server:
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
    until = time.monotonic() + PATIENCE
    while not (found := re.search(r"http://[\d.]+:\d+", log.read_text())):
        assert process.poll() is None and time.monotonic() < until, log.read_text()
        time.sleep(0.1)
    return Server(process, found[0])


def end(server: Server) -> None:
    server.process.send_signal(signal.SIGTERM)
    try:
        server.process.wait(60)
    finally:
        if server.process.poll() is None:
            os.killpg(server.process.pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dashboard")


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[Server]:
    command = ["penstock.cli.main", "cluster", "start", "--port", "0"]
    server = start([*command, "--state-dir", str(folder / "state")], folder / "server.log")
    yield server
    for job in server.ask("GET", "/jobs")["jobs"]:
        if job["status"] not in ("FINISHED", "FAILED", "CANCELED"):
            server.ask("PATCH", f"/jobs/{job['id']}?mode=cancel")
            server.wait(job["id"], lambda facts: facts["end-time"] > 0)
    end(server)


@pytest.fixture(scope="session")
def shop(server: Server, folder: Path) -> str:
    """A job that goes on and on; the last test stops it."""
    archive = {"jobmanager.archive.fs.dir": str(folder / "archive")}
    return server.run(SHOP, str(folder / "results"), **archive)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with headless_chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """A page of a wide screen, which must not complain nor ask other hosts."""
    yield from watched(browser, server.address, {"width": 1280, "height": 900})


@pytest.fixture
def phone(browser: Browser, server: Server) -> Iterator[Page]:
    yield from watched(browser, server.address, {"width": 390, "height": 844})


def watched(browser: Browser, address: str, size: Any) -> Iterator[Page]:
    complaints: list[str] = []
    elsewhere: list[str] = []
    context = browser.new_context(viewport=size, base_url=address, color_scheme="light")
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()

    def note(message: Any) -> None:
        # The browser writes down each answer that is an error; they are counted below.
        if message.type in ("error", "warning") and "Failed to load" not in message.text:
            complaints.append(message.text)

    def note_answer(answer: Any) -> None:
        # An archive has not everything; a server that is being stopped is made up by a test.
        if answer.status >= 400 and answer.status not in (404, 503):
            complaints.append(f"{answer.status} {answer.url}")

    page.on("console", note)
    page.on("response", note_answer)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith(address) else elsewhere.append(request.url),
    )
    yield page
    context.close()
    assert complaints == []
    assert elsewhere == []
