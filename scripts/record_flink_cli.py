#!/usr/bin/env python3
"""Record what Flink's own command line asks a server: `record_flink_cli.py FLINK_HOME > FILE`.

It is run against jobs that stand still (`tests/unit/server`); each command is kept with its
requests and what it printed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from penstock.server.app import make_app
from penstock.server.listening import listen
from tests.unit.server.conftest import SampleJobs
from tests.unit.server.samples import JOB_ID

COMMANDS = {
    "list": ["list", "-a"],
    "cancel": ["cancel", JOB_ID],
    "cancel with savepoint": ["cancel", "-s", "/sp", JOB_ID],
    "stop": ["stop", "-p", "/sp", JOB_ID],
    "stop with drain": ["stop", "--drain", "-p", "/sp", JOB_ID],
    "savepoint": ["savepoint", JOB_ID, "/sp"],
    "checkpoint": ["checkpoint", JOB_ID],
    "savepoint that fails": ["savepoint", JOB_ID, "/bad"],
    "cancel of nothing": ["cancel", "0" * 32],
}


class Recorder:
    """Keep the requests that go through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.requests: list[dict[str, Any]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = b""

        async def receive_and_keep() -> Message:
            nonlocal body
            message = await receive()
            body += message.get("body", b"")
            return message

        await self._app(scope, receive_and_keep, send)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        query = scope["query_string"].decode()
        self.requests.append(
            {
                "verb": scope["method"],
                "path": scope["path"] + (f"?{query}" if query else ""),
                "content-type": headers.get("content-type"),
                "body": json.loads(body) if body else None,
            }
        )


def main() -> None:
    """Run each command once."""
    listener = listen("127.0.0.1", 0)
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    recorder = Recorder(make_app(SampleJobs(Path(tempfile.mkdtemp()))))
    server = uvicorn.Server(uvicorn.Config(recorder, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    found = {}
    for name, command in COMMANDS.items():
        recorder.requests = []
        done = subprocess.run(
            [os.path.join(sys.argv[1], "bin", "flink"), command[0], "-m", address, *command[1:]],
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        found[name] = {
            "code": done.returncode,
            "printed": done.stdout.replace(address, "ADDRESS").splitlines(),
            "requests": recorder.requests,
        }
        print(name, done.returncode, done.stderr[-2000:], file=sys.stderr)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
