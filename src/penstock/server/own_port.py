"""A job's own REST port: served by a thread of its process, as Flink's mini cluster does."""

from __future__ import annotations

import threading
from typing import Any

import uvicorn

from penstock.errors import RequestError
from penstock.execution.facts.snapshot import JobSnapshot
from penstock.server.app import make_app
from penstock.server.jobs import Jobs
from penstock.server.listening import listen
from penstock.server.session.live import LiveJobs

_guard = threading.Lock()
#: Ports that this process serves.
_served: dict[int, OwnJobs] = {}


class OwnJobs(Jobs):
    """The jobs of this process."""

    takes_orders = True

    def __init__(self) -> None:
        self._live = LiveJobs()
        self.ids: list[str] = []

    def all(self) -> list[JobSnapshot]:
        found = (self._live.snapshot(job_id) for job_id in self.ids)
        return [snapshot for snapshot in found if snapshot is not None]

    def ask(self, job_id: str, what: str, **arguments: Any) -> Any:
        if job_id not in self.ids:
            raise RequestError(404, f"Job {job_id} not found")
        return self._live.ask(job_id, what, **arguments)


def serve_job(job_id: str, port: int) -> None:
    """Serve a job of this process at a port of this machine's loopback address.

    :raises ConfigurationError: if the port is not free.
    """
    with _guard:
        jobs = _served.get(port)
        if jobs is None:
            jobs = _served[port] = _serve(port)
        jobs.ids.append(job_id)


def _serve(port: int) -> OwnJobs:
    jobs = OwnJobs()
    listener = listen("127.0.0.1", port)
    number = listener.getsockname()[1]
    config = uvicorn.Config(make_app(jobs), log_config=None, access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listener]}, name="penstock-rest", daemon=True
    )
    thread.start()
    print(f"REST and dashboard of this job: http://127.0.0.1:{number}", flush=True)
    return jobs
