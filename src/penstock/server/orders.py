"""Requests that change something: cancel, stop, savepoints, checkpoints, the end of the session."""

from __future__ import annotations

import threading
from typing import Any

from penstock.common.options import SAVEPOINT_DIR
from penstock.connectors.file_paths import absolute
from penstock.errors import PenstockError, RequestError
from penstock.execution.facts.snapshot import JobSnapshot
from penstock.runtime.coordinator.savepoints import dispose
from penstock.server.answers.jobs import ENDED
from penstock.server.context import Asked, Context, Endpoint

_SAVEPOINTS, _CHECKPOINTS, _DISPOSAL = "savepoints", "checkpoints", "savepoint-disposal"
#: How long whoever cancels waits to hear that it cannot be.
_CANCEL_SECONDS = 1.0


def endpoints(context: Context) -> list[Endpoint]:
    """Return the endpoints that give orders to jobs."""
    orders = _Orders(context)
    return [
        Endpoint("PATCH", "/jobs/:jobid", orders.terminate, 202),
        Endpoint("POST", "/jobs/:jobid/savepoints", orders.savepoint, 202),
        Endpoint("GET", "/jobs/:jobid/savepoints/:triggerid", orders.look_at_savepoint),
        Endpoint("POST", "/jobs/:jobid/stop", orders.stop, 202),
        Endpoint("POST", "/jobs/:jobid/checkpoints", orders.checkpoint, 202),
        Endpoint("GET", "/jobs/:jobid/checkpoints/:triggerid", orders.look_at_checkpoint),
        # Flink answers this one with 200.
        Endpoint("POST", "/savepoint-disposal", orders.dispose),
        Endpoint("GET", "/savepoint-disposal/:triggerid", orders.look_at_disposal),
        Endpoint("DELETE", "/cluster", orders.shut_down),
    ]


class _Orders:
    def __init__(self, context: Context) -> None:
        self._context = context

    def terminate(self, asked: Asked) -> dict[str, Any]:
        """Cancel a job: PATCH `/jobs/:jobid?mode=cancel`."""
        mode = asked.query.get("mode", "cancel")
        if mode == "stop":
            raise RequestError(410, 'The termination mode "stop" has been removed.')
        if mode != "cancel":
            raise RequestError(
                400,
                "Bad request, could not parse parameters: "
                f'Cannot resolve query parameter (mode) from value "{mode}".',
            )
        job = self._context.jobs.one(asked.job_id)
        if job.state in ENDED:
            raise RequestError(
                409,
                "Job cancellation failed because the job has already reached another terminal "
                f"state ({job.state}).",
            )
        refused: list[PenstockError] = []

        def cancel() -> None:
            try:
                self._context.jobs.ask(job.job_id, "cancel")
            except PenstockError as error:
                refused.append(error)

        # The answer says that it was asked for; to wait for the end is the client's affair.
        thread = threading.Thread(target=cancel, name="penstock-cancel", daemon=True)
        thread.start()
        thread.join(_CANCEL_SECONDS)
        if refused:
            raise refused[0]
        return {}

    def savepoint(self, asked: Asked) -> dict[str, Any]:
        """Write a savepoint while the job goes on, or before it is cancelled."""
        job = self._running(asked)
        what = "cancel-with-savepoint" if asked.body.get("cancel-job") else "savepoint"
        target = self._target(asked, job, "target-directory")

        def work() -> dict[str, Any]:
            return {"location": self._context.jobs.ask(job.job_id, what, directory=target)}

        return self._start(asked, (job.job_id, _SAVEPOINTS), work)

    def stop(self, asked: Asked) -> dict[str, Any]:
        """Write a savepoint and end the job at it."""
        job = self._running(asked)
        drain = bool(asked.body.get("drain", False))
        target = self._target(asked, job, "targetDirectory")

        def work() -> dict[str, Any]:
            found = self._context.jobs.ask(job.job_id, "stop", drain=drain, directory=target)
            return {"location": found}

        return self._start(asked, (job.job_id, _SAVEPOINTS), work)

    def look_at_savepoint(self, asked: Asked) -> dict[str, Any]:
        """Tell whether a savepoint is done."""
        subject = (asked.job_id, _SAVEPOINTS)
        return self._context.triggers.look(subject, asked.path["triggerid"])

    def checkpoint(self, asked: Asked) -> dict[str, Any]:
        """Complete a checkpoint now."""
        job = self._running(asked)

        def work() -> dict[str, Any]:
            return {"checkpointId": self._context.jobs.ask(job.job_id, "checkpoint")}

        return self._start(asked, (job.job_id, _CHECKPOINTS), work)

    def look_at_checkpoint(self, asked: Asked) -> dict[str, Any]:
        """Tell whether a checkpoint is done."""
        subject = (asked.job_id, _CHECKPOINTS)
        return self._context.triggers.look(subject, asked.path["triggerid"])

    def dispose(self, asked: Asked) -> dict[str, Any]:
        """Remove a savepoint."""
        path = asked.body.get("savepoint-path")
        if not self._context.jobs.takes_orders:
            raise RequestError(405, "This server removes no savepoints.")
        if not isinstance(path, str) or not path:
            raise RequestError(400, "Field savepoint-path must not be omitted.")

        def work() -> dict[str, Any]:
            dispose(absolute(path))
            return {}

        return self._start(asked, ("", _DISPOSAL), work)

    def look_at_disposal(self, asked: Asked) -> dict[str, Any]:
        """Tell whether a savepoint is removed."""
        return self._context.triggers.look(("", _DISPOSAL), asked.path["triggerid"])

    def shut_down(self, asked: Asked) -> dict[str, Any]:
        """End the session. Its jobs go on, and the next session finds them."""
        self._context.jobs.shut_down()
        return {}

    def _running(self, asked: Asked) -> JobSnapshot:
        job = self._context.jobs.one(asked.job_id)
        if job.state in ENDED:
            raise RequestError(409, f"Job {job.job_id} is not running: it is {job.state}.")
        return job

    def _target(self, asked: Asked, job: JobSnapshot, name: str) -> str | None:
        target = asked.body.get(name)
        if target is not None and not isinstance(target, str):
            raise RequestError(400, f"Field {name} must be a text.")
        if not target and SAVEPOINT_DIR.read(job.configuration) is None:
            raise RequestError(
                400,
                f"Config key [{SAVEPOINT_DIR.key}] is not set. Property [{name}] must be provided.",
            )
        return target or None

    def _start(self, asked: Asked, subject: tuple[str, str], work: Any) -> dict[str, str]:
        given = asked.body.get("triggerId")
        return self._context.triggers.start(subject, work, str(given) if given else None)
