"""What all handlers of the app share, and how they read a request."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.errors import JobNotFoundError, PenstockError, RequestError
from penstock.server.jobs import Jobs
from penstock.server.triggers import Triggers

_ID = re.compile("[0-9a-f]{32}")


@dataclass
class Context:
    """One app."""

    jobs: Jobs
    version: str
    triggers: Triggers = field(default_factory=Triggers)


@dataclass(frozen=True)
class Asked:
    """A request as a handler sees it."""

    path: dict[str, str]
    query: dict[str, str]
    body: dict[str, Any]
    address: str

    @property
    def job_id(self) -> str:
        """The job that the path names.

        :raises RequestError: if it is not the id of a job.
        """
        text = self.path["jobid"]
        if not _ID.fullmatch(text):
            raise RequestError(
                400,
                "Bad request, could not parse parameters: "
                f'Cannot resolve path parameter (jobid) from value "{text}".',
            )
        return text


Handler = Callable[[Asked], Any]


@dataclass(frozen=True)
class Endpoint:
    """A path with a verb, and who answers; `status` is that of an answer that is no error."""

    verb: str
    path: str
    handler: Handler
    status: int = 200


def routes(endpoints: list[Endpoint]) -> list[Route]:
    """Return endpoints as the app takes them, with `/v1` in front and without."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {})[endpoint.verb] = endpoint
    found = []
    for path, verbs in by_path.items():
        pattern = re.sub(r":(\w+)", r"{\1}", path)
        for prefix in ("/v1", ""):
            found.append(Route(prefix + pattern, _serve(verbs), methods=list(verbs)))
    return found


def _serve(verbs: dict[str, Endpoint]) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        endpoint = verbs["GET" if request.method == "HEAD" else request.method]
        try:
            asked = Asked(
                dict(request.path_params),
                dict(request.query_params),
                await _body(request),
                f"{request.url.scheme}://{request.url.netloc}",
            )
            # Handlers wait for sockets and files.
            answer = await run_in_threadpool(endpoint.handler, asked)
        except RequestError as error:
            return failure(error.status, error.what)
        except JobNotFoundError as error:
            return failure(404, str(error))
        except PenstockError as error:
            return failure(500, str(error))
        if isinstance(answer, Response):
            return answer
        return JSONResponse(answer, endpoint.status, {"cache-control": "no-store"})

    return serve


async def _body(request: Request) -> dict[str, Any]:
    """Return the body: JSON, or a form with files as `{name: (filename, bytes)}`."""
    if request.method in ("GET", "HEAD"):
        return {}
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        return await _files(request)
    try:
        data = await request.body()
        found = json.loads(data) if data.strip() else {}
    except ClientDisconnect:
        raise RequestError(413, "The request is too long.") from None
    except ValueError:
        raise RequestError(400, "Request did not match expected format: it is no JSON.") from None
    if not isinstance(found, dict):
        raise RequestError(400, "Request did not match expected format: it is no JSON object.")
    return found


async def _files(request: Request) -> dict[str, Any]:
    try:
        async with request.form(max_files=1, max_fields=10) as form:
            return {
                name: value
                if isinstance(value, str)
                else (value.filename or "", await value.read())
                for name, value in form.items()
            }
    except ClientDisconnect:
        raise RequestError(413, "The request is too long.") from None


def failure(status: int, *texts: str) -> JSONResponse:
    """Return an error as Flink answers it."""
    return JSONResponse({"errors": list(texts)}, status)
