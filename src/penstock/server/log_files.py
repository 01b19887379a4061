"""Log files of jobs and of the session: by listed name only, and without secrets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from starlette.responses import PlainTextResponse, Response, StreamingResponse

from penstock.errors import RequestError
from penstock.execution.facts.masking import Hider
from penstock.execution.facts.snapshot import JobSnapshot
from penstock.server.answers.question import number_of
from penstock.server.answers.taskmanagers import find_executor
from penstock.server.context import Asked, Context, Endpoint, Handler

#: Bytes that are read and sent at once.
_BLOCK = 1 << 18


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


def _with(files: Callable[[Asked], _Files], answer: Callable[[_Files, Asked], Any]) -> Handler:
    def handler(asked: Asked) -> Any:
        return answer(files(asked), asked)

    handler.__doc__ = answer.__doc__
    return handler


class _Files(NamedTuple):
    """Files by name, and what hides secrets in them."""

    paths: dict[str, Path]
    hide: Hider


class _Logs:
    def __init__(self, context: Context) -> None:
        self._jobs = context.jobs

    def of_job(self, asked: Asked) -> _Files:
        """Return the files of a job by name."""
        return self._files_of(self._jobs.one(asked.job_id))

    def of_executor(self, asked: Asked) -> _Files:
        """Return the files of the job that an executor works for: Spark's log is one of them."""
        return self._files_of(find_executor(self._jobs.all(), asked.path["taskmanagerid"]).job)

    def of_session(self, asked: Asked) -> _Files:
        """Return the session's own files."""
        paths = {path.name: path for path in self._jobs.logs()}
        return _Files(paths, Hider(self._jobs.settings()))

    def _files_of(self, job: JobSnapshot) -> _Files:
        paths = {log.name: Path(log.path) for log in job.logs}
        return _Files(paths, Hider(self._jobs.settings_of(job.job_id)))


def listed(files: _Files, asked: Asked) -> dict[str, Any]:
    """Answer a list of logs."""
    found = []
    for name, path in files.paths.items():
        try:
            facts = os.stat(path)
        except OSError:
            continue
        found.append({"name": name, "size": facts.st_size, "mtime": int(facts.st_mtime * 1000)})
    return {"logs": found}


def sent(files: _Files, asked: Asked) -> Response:
    """Answer with the text of a log; with `tail=` its last bytes alone, from a whole line on."""
    path = files.paths.get(asked.path["name"])
    if path is None or not path.is_file():
        raise RequestError(404, f"This file ({asked.path['name']}) does not exist.")
    tail = asked.query.get("tail")
    return _text_of(path, files.hide, None if tail is None else number_of(tail, "tail"))


def first(files: _Files, asked: Asked) -> Response:
    """Answer with the text of the first log that is there."""
    for path in files.paths.values():
        if path.is_file():
            return _text_of(path, files.hide)
    return PlainTextResponse("")


def _text_of(path: Path, hide: Hider, tail: int | None = None) -> Response:
    return StreamingResponse(_blocks(path, hide, tail), media_type="text/plain; charset=utf-8")


def _blocks(path: Path, hide: Hider, tail: int | None) -> Iterator[str]:
    """Yield the text of a file in blocks of whole lines, as long as it is now."""
    with open(path, "rb") as file:
        left = os.fstat(file.fileno()).st_size
        if tail is not None and tail < left:
            # The byte in front tells whether a line begins there.
            file.seek(left - tail - 1)
            left = tail - len(file.readline()) + 1
        while left > 0 and (lines := file.readlines(min(_BLOCK, left))):
            left -= sum(map(len, lines))
            yield hide(b"".join(lines).decode("utf-8", "replace"))
