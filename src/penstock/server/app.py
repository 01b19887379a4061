"""The web app: Flink's REST API over snapshots, and the dashboard's files."""

from __future__ import annotations

from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from penstock.server import log_files, openapi, orders, prometheus_page, reading, scripts
from penstock.server.context import Context, Endpoint, failure, routes
from penstock.server.jobs import Jobs
from penstock.server.safety import Access, Guard

#: Files of the dashboard.
STATIC = Path(__file__).parent / "static"
#: Longest body of a request: a script.
LONGEST_BODY = 10 << 20
#: Longest file that a program needs: packages and archives.
_LONGEST_FILE = 200 << 20


def make_app(
    jobs: Jobs,
    access: Access | None = None,
    *,
    static: Path = STATIC,
    longest_body: int = LONGEST_BODY,
) -> Starlette:
    """Return the app that serves jobs.

    :param access: whom it lets in; as on a loopback address if left out.
    :param static: folder of the pages at `/`.
    """
    context = Context(jobs, version_of("penstock"))
    limits = {"longest_body": longest_body, "longest_file": _LONGEST_FILE}
    endpoints = all_endpoints(context)
    folder = StaticFiles(directory=static, html=True, check_dir=False)
    return Starlette(
        routes=[*routes(endpoints), Mount("/", folder)],
        middleware=[Middleware(Guard, access=access or Access(), **limits)],
        exception_handlers={HTTPException: _http_error, Exception: _error},
    )


def all_endpoints(context: Context) -> list[Endpoint]:
    """Return everything that can be asked for."""
    found = [
        *reading.endpoints(context),
        *orders.endpoints(context),
        *scripts.endpoints(context),
        *log_files.endpoints(context),
        *prometheus_page.endpoints(context),
    ]
    document = openapi.document(found, context.version)

    def openapi_document(asked: Any) -> Any:
        """Answer this document."""
        return document

    def openapi_page(asked: Any) -> Any:
        """Answer the API as a page to read."""
        return openapi.page(found)

    return [
        *found,
        Endpoint("GET", "/openapi.json", openapi_document),
        Endpoint("GET", "/openapi", openapi_page),
    ]


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 405:
        answer = failure(status, f"{request.method} is not allowed: {request.url.path}")
        allowed = (getattr(error, "headers", None) or {}).get("Allow")
        if allowed:
            answer.headers["Allow"] = allowed
        return answer
    if status == 404:
        return failure(status, f"Not found: {request.url.path}")
    return failure(status, str(error))


async def _error(request: Request, error: Exception) -> Response:
    return failure(500, "Internal server error.", f"{type(error).__name__}: {error}")
