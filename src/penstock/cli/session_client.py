"""The command line's side of a session: requests over REST."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass
from typing import Any

from penstock.common.options import REST_ADDRESS, REST_PORT
from penstock.errors import JobFailedError, JobNotFoundError, SessionError
from penstock.execution.configuration import load_configuration
from penstock.execution.rest_link import DEFAULT_PORT, tls_of_client, token_header

#: States of a job that has come to its end.
ENDED = ("FINISHED", "FAILED", "CANCELED", "SUSPENDED")
_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 60.0
#: `host:port`, as Flink's command line takes it; masters of Spark have other forms.
_HOST_PORT = re.compile(r"[A-Za-z0-9.-]+:\d+|\[[0-9a-fA-F:]+\]:\d+")


def session_address(given: str | None) -> str | None:
    """Return the address of the session that a command is for, None if it is for this machine.

    :param given: what `-m` says: an address, or a master of Spark's, which is no session.
    """
    if given:
        if given.startswith(("http://", "https://")):
            return given.rstrip("/")
        return f"http://{given}" if _HOST_PORT.fullmatch(given) else None
    settings = load_configuration().to_dict()
    host = REST_ADDRESS.read(settings)
    if host is None:
        return None
    return f"http://{host}:{REST_PORT.read(settings) or DEFAULT_PORT}"


class SessionClient:
    """Ask a session.

    :param address: `http://host:port`.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._headers = token_header(load_configuration().to_dict())
        self._tls = tls_of_client()

    def ask(self, verb: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a request and return the answer.

        :raises SessionError: if the session does not answer, or refuses.
        """
        data = None if body is None else json.dumps(body).encode()
        return self._send(verb, path, data, "application/json")

    def upload(self, path: str, name: str, content: bytes) -> str:
        """Upload a file, and return its id.

        :raises SessionError: if the session does not answer, or refuses.
        """
        boundary = uuid.uuid4().hex
        # A quotation mark would end the name.
        named = f'form-data; name="file"; filename="{name.replace(chr(34), "_")}"'
        head = f"--{boundary}\r\nContent-Disposition: {named}\r\n\r\n".encode()
        data = head + content + f"\r\n--{boundary}--\r\n".encode()
        kind = f"multipart/form-data; boundary={boundary}"
        return str(self._send("POST", path, data, kind)["id"])

    def _send(self, verb: str, path: str, data: bytes | None, kind: str) -> Any:
        headers = {**self._headers, "Content-Type": kind}
        request = urllib.request.Request(f"{self.address}/v1{path}", data, headers, method=verb)
        try:
            with urllib.request.urlopen(
                request, timeout=_PATIENCE_SECONDS, context=self._tls
            ) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            raise _refusal(error, self.address) from None
        except (OSError, ValueError) as error:
            raise SessionError(
                "the session does not answer",
                where=self.address,
                got=str(getattr(error, "reason", None) or error),
                todo="see whether it runs: penstock cluster status",
            ) from None

    def jobs(self) -> list[SessionJob]:
        """Return the jobs, the oldest first."""
        found = self.ask("GET", "/jobs/overview")["jobs"]
        jobs = [
            SessionJob(self, job["jid"], job["name"], job["start-time"] / 1000, job["state"])
            for job in found
        ]
        return sorted(jobs, key=lambda job: job.began)

    def job(self, job_id: str) -> SessionJob:
        """Return a job by its id.

        :raises JobNotFoundError: if the session has none.
        """
        jobs = self.jobs()
        for job in jobs:
            if job.job_id == job_id:
                return job
        raise JobNotFoundError(
            f"there is no job {job_id}",
            where=self.address,
            todo="take the id from 'penstock list'",
        )

    def wait_for(self, path: str) -> dict[str, Any]:
        """Wait for an operation, and return what came of it.

        :raises JobFailedError: with the reason if it could not be done.
        """
        while True:
            answer = self.ask("GET", path)
            if answer["status"]["id"] != "IN_PROGRESS":
                found: dict[str, Any] = answer.get("operation") or {}
                if "failure-cause" in found:
                    raise JobFailedError(str(found["failure-cause"]["stack-trace"]))
                return found
            time.sleep(_POLL_SECONDS)


@dataclass(frozen=True)
class SessionJob:
    """A job of a session, asked as one of this machine is."""

    session: SessionClient
    job_id: str
    name: str
    began: float
    status: str

    def ask(self, what: str, **arguments: Any) -> Any:
        """Have something done, and wait until it is.

        :raises JobFailedError: with the reason if it could not be.
        """
        place = f"/jobs/{self.job_id}"
        if what == "cancel":
            self.session.ask("PATCH", f"{place}?mode=cancel")
            while self.session.job(self.job_id).status not in ENDED:
                time.sleep(_POLL_SECONDS)
            return None
        if what == "checkpoint":
            asked = self.session.ask("POST", f"{place}/checkpoints", {"checkpointType": "FULL"})
            done = self.session.wait_for(f"{place}/checkpoints/{asked['request-id']}")
            return done.get("checkpointId")
        directory = arguments.get("directory")
        if what == "stop":
            body = {"targetDirectory": directory, "drain": arguments["drain"]}
            asked = self.session.ask("POST", f"{place}/stop", body)
        else:
            cancel = what == "cancel-with-savepoint"
            body = {"target-directory": directory, "cancel-job": cancel}
            asked = self.session.ask("POST", f"{place}/savepoints", body)
        return self.session.wait_for(f"{place}/savepoints/{asked['request-id']}").get("location")


def _refusal(error: urllib.error.HTTPError, address: str) -> SessionError:
    try:
        texts = json.loads(error.read())["errors"]
    except (ValueError, KeyError, TypeError):
        texts = [error.reason]
    todo = "set the variable PENSTOCK_TOKEN to the session's token" if error.code == 401 else None
    return SessionError(
        "the session refuses",
        where=address,
        got=f"{error.code}: {' '.join(map(str, texts))}",
        todo=todo,
    )
