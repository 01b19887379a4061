"""Log files of jobs and of the session: by listed name only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from starlette.responses import FileResponse, PlainTextResponse, Response

from penstock.errors import RequestError
from penstock.server.answers.taskmanagers import find_executor
from penstock.server.context import Asked, Context, Endpoint, Handler


def endpoints(context: Context) -> list[Endpoint]:
    """Return the endpoints of logs."""
    logs = _Logs(context)
    found = []
    for place, files in (
        ("/taskmanagers/:taskmanagerid", logs.of_executor),
        ("/jobmanager", logs.of_session),
        ("/jobs/:jobid", logs.of_job),
    ):
        found += [
            Endpoint("GET", f"{place}/logs", _with(files, listed)),
            Endpoint("GET", f"{place}/logs/:name", _with(files, sent)),
        ]
        if files != logs.of_job:
            found += [
                Endpoint("GET", f"{place}/log", _with(files, first)),
                Endpoint("GET", f"{place}/stdout", _with(files, first)),
            ]
    return found


def _with(
    files: Callable[[Asked], dict[str, Path]], answer: Callable[[dict[str, Path], Asked], Any]
) -> Handler:
    def handler(asked: Asked) -> Any:
        return answer(files(asked), asked)

    handler.__doc__ = answer.__doc__
    return handler


class _Logs:
    def __init__(self, context: Context) -> None:
        self._jobs = context.jobs

    def of_job(self, asked: Asked) -> dict[str, Path]:
        """Return the files of a job by name."""
        job = self._jobs.one(asked.job_id)
        return {log.name: Path(log.path) for log in job.logs}

    def of_executor(self, asked: Asked) -> dict[str, Path]:
        """Return the files of the job that an executor works for: Spark's log is one of them."""
        job = find_executor(self._jobs.all(), asked.path["taskmanagerid"]).job
        return {log.name: Path(log.path) for log in job.logs}

    def of_session(self, asked: Asked) -> dict[str, Path]:
        """Return the session's own files."""
        return _named(self._jobs.logs())


def _named(paths: Iterable[Path]) -> dict[str, Path]:
    return {path.name: path for path in paths}


def listed(files: dict[str, Path], asked: Asked) -> dict[str, Any]:
    """Answer a list of logs."""
    found = []
    for name, path in files.items():
        try:
            facts = os.stat(path)
        except OSError:
            continue
        found.append({"name": name, "size": facts.st_size, "mtime": int(facts.st_mtime * 1000)})
    return {"logs": found}


def sent(files: dict[str, Path], asked: Asked) -> Response:
    """Answer with the text of a log."""
    path = files.get(asked.path["name"])
    if path is None or not path.is_file():
        raise RequestError(404, f"This file ({asked.path['name']}) does not exist.")
    return FileResponse(path, media_type="text/plain; charset=utf-8")


def first(files: dict[str, Path], asked: Asked) -> Response:
    """Answer with the text of the first log that is there."""
    for path in files.values():
        if path.is_file():
            return FileResponse(path, media_type="text/plain; charset=utf-8")
    return PlainTextResponse("")
