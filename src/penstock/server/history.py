"""The history server: the pages of jobs that have ended, from their archives."""

from __future__ import annotations

import argparse
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from penstock.common.options import (
    ARCHIVE_DIR,
    HISTORY_ADDRESS,
    HISTORY_DIR,
    HISTORY_PORT,
    HISTORY_REFRESH,
)
from penstock.errors import ConfigurationError, PenstockError
from penstock.execution.command_settings import settings_of
from penstock.execution.configuration import load_configuration
from penstock.execution.facts.archive import local_path
from penstock.server.answers import cluster
from penstock.server.app import STATIC
from penstock.server.archives import Archives
from penstock.server.context import failure
from penstock.server.listening import listen
from penstock.server.safety import Access, Guard, read_token

_NO_STORE = {"cache-control": "no-store"}
_JOB = re.compile("/jobs/([0-9a-f]{32})(/.*)?")


class _Fresh:
    """Archives that are looked through again before an answer, if the last time is long ago."""

    def __init__(self, archives: Archives, every: float, clock: Callable[[], float]) -> None:
        self._archives = archives
        self._every = every
        self._clock = clock
        self._lock = threading.Lock()
        self._due = clock()

    def get(self) -> Archives:
        with self._lock:
            if self._clock() >= self._due:
                self._archives.refresh()
                self._due = self._clock() + self._every
        return self._archives


def make_history_app(
    archives: Archives,
    access: Access | None = None,
    *,
    refresh_seconds: float = 10,
    static: Path = STATIC,
    clock: Callable[[], float] = time.monotonic,
) -> Starlette:
    """Return the app that serves archives, at Flink's paths and with the dashboard's pages.

    :param access: whom it lets in; as on a loopback address if left out.
    :param refresh_seconds: how old a look at the folders may be.
    """
    fresh = _Fresh(archives, refresh_seconds, clock)
    config = {
        **cluster.config(version_of("penstock"), submit=False, cancel=False, history=True),
        "refresh-interval": max(1000, int(refresh_seconds * 1000)),
    }
    answers: dict[str, Callable[[], Any]] = {
        "/config": lambda: config,
        "/jobs": lambda: {
            "jobs": [{"id": job["jid"], "status": job.get("state")} for job in fresh.get().jobs()]
        },
        "/jobs/overview": lambda: {"jobs": fresh.get().jobs()},
        "/archives": lambda: {"broken": fresh.get().broken()},
    }

    def find(path: str) -> Response:
        if path in answers:
            return JSONResponse(answers[path](), headers=_NO_STORE)
        job = _JOB.fullmatch(path)
        text = fresh.get().answer(job[1], path) if job else None
        if text is None:
            return failure(404, f"The archive has no answer for {path}")
        return Response(text, media_type="application/json", headers=_NO_STORE)

    async def serve(request: Request) -> Response:
        # Archives are read from disk, where a file may be large.
        return await run_in_threadpool(find, request.url.path.removeprefix("/v1").rstrip("/"))

    served = [*answers, "/jobs/{rest:path}"]
    return Starlette(
        routes=[
            *(Route(prefix + path, serve) for path in served for prefix in ("", "/v1")),
            Mount("/", StaticFiles(directory=static, html=True, check_dir=False)),
        ],
        middleware=[Middleware(Guard, access=access or Access(), longest_body=0)],
    )


def history_folders(settings: Mapping[str, str]) -> list[Path]:
    """Return the folders that the settings name.

    :raises ConfigurationError: if they name none.
    """
    named = HISTORY_DIR.read(settings)
    jobs_own = ARCHIVE_DIR.read(settings)
    if not named and jobs_own is not None:
        named = (jobs_own,)
    if not named:
        raise ConfigurationError(
            "the history server does not know where the archives are",
            where="penstock history start",
            got=f"no {HISTORY_DIR.key}",
            todo=f"pass -D {HISTORY_DIR.key}=FOLDER, the folder that jobs have as "
            f"{ARCHIVE_DIR.key}",
        )
    return [local_path(folder) for folder in named]


def serve_history(settings: Mapping[str, str], access: Access) -> None:
    """Serve archives until SIGTERM or Ctrl-C.

    :raises ConfigurationError: if no folder is named, or the port is taken.
    """
    folders = history_folders(settings)
    app = make_history_app(
        Archives(folders),
        access,
        refresh_seconds=HISTORY_REFRESH.read(settings).to_milliseconds() / 1000,
    )
    address, port = HISTORY_ADDRESS.read(settings), HISTORY_PORT.read(settings)
    with listen(address, port) as listener:
        host = f"[{address}]" if ":" in address else address
        url = f"http://{host}:{listener.getsockname()[1]}"
        print(f"History of {', '.join(map(str, folders))} at {url}", flush=True)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
        server.run(sockets=[listener])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a history server until it is stopped: `penstock history start` becomes it."""
    parser = argparse.ArgumentParser(prog="penstock history start")
    parser.add_argument("-D", dest="settings", action="append", default=[], metavar="key=value")
    parser.add_argument("--port", help=f"as -D {HISTORY_PORT.key}=PORT")
    parser.add_argument("--address", help=f"as -D {HISTORY_ADDRESS.key}=ADDRESS")
    parser.add_argument("--token-file", type=Path, help="secret that every request must have")
    parser.add_argument("--host", action="append", default=[], help="a name it is reached by")
    given = parser.parse_args(arguments)
    named = {HISTORY_PORT.key: given.port, HISTORY_ADDRESS.key: given.address}
    try:
        settings = {
            **load_configuration().to_dict(),
            **settings_of(given.settings, "penstock history start -D"),
            **{key: value for key, value in named.items() if value is not None},
        }
        token = read_token(given.token_file, "penstock history start --token-file")
        address = HISTORY_ADDRESS.read(settings)
        serve_history(settings, Access.of(address, token, mutual_tls=False, hosts=given.host))
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
