"""What a job's process does for REST: serve a port of its own, or tell a session of its jobs.

`rest.port` alone is a port of the process's own. With `rest.address` it is that of a session, which
says where jobs leave what is known of them: so it learns of them, and of how they ended.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import ssl
import threading
import urllib.request
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path

from penstock.common.options import FACTS_DIR, REST_ADDRESS, REST_PORT, REST_TOKEN_FILE
from penstock.errors import ConfigurationError, PenstockError
from penstock.execution.executor import JobHandle
from penstock.execution.job_ids import JOB_ID_VARIABLE

#: Entry point group of the function that serves a job: this layer knows no web server.
JOB_SERVERS = "penstock.job_servers"
JobServer = Callable[[str, int], None]
#: Where a session says where jobs leave what is known of them.
SESSION_PATH = "/v1/penstock/session"
TOKEN_VARIABLE = "PENSTOCK_TOKEN"
#: Files for a session with TLS: who signs its certificate, and one's own certificate with its key.
TLS_VARIABLES = ("PENSTOCK_TLS_CA", "PENSTOCK_TLS_CERT", "PENSTOCK_TLS_KEY")
DEFAULT_PORT = 8081

_log = logging.getLogger(__name__)
_PATIENCE_SECONDS = 10.0


def linked(settings: dict[str, str]) -> dict[str, str]:
    """Return a job's settings with where to leave its facts, if they name a session.

    A session that does not answer keeps no job from running.
    """
    address = REST_ADDRESS.read(settings)
    if os.environ.get(JOB_ID_VARIABLE) or address is None or FACTS_DIR.read(settings) is not None:
        return settings
    url = f"http://{address}:{REST_PORT.read(settings) or DEFAULT_PORT}{SESSION_PATH}"
    try:
        request = urllib.request.Request(url, headers=token_header(settings))
        with urllib.request.urlopen(request, timeout=_PATIENCE_SECONDS) as answer:
            return {**settings, FACTS_DIR.key: str(json.load(answer)["facts-dir"])}
    except (OSError, ValueError, KeyError) as error:
        _log.warning("the session at %s does not learn of the job: %s", address, error)
        return settings


def token_header(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the header that proves who asks; empty if there is no token.

    :raises ConfigurationError: if the file of the token cannot be read.
    """
    path = REST_TOKEN_FILE.read(settings)
    if path is None:
        token = os.environ.get(TOKEN_VARIABLE, "")
    else:
        try:
            token = Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ConfigurationError(
                "the token cannot be read",
                where=f"configuration key {REST_TOKEN_FILE.key}",
                got=str(error),
                todo="name the file that the session was started with",
            ) from None
    return {"Authorization": f"Bearer {token}"} if token else {}


def tls_of_client() -> ssl.SSLContext | None:
    """Return how a session with TLS is asked, None if no variable says anything of it.

    :raises ConfigurationError: if one of the files cannot be read.
    """
    authority, certificate, key = (os.environ.get(name) for name in TLS_VARIABLES)
    if not authority and not certificate:
        return None
    try:
        context = ssl.create_default_context(cafile=authority)
        if certificate:
            context.load_cert_chain(certificate, key)
    except OSError as error:
        raise ConfigurationError(
            "a file for TLS cannot be read",
            where=f"environment variables {', '.join(TLS_VARIABLES)}",
            got=str(error),
            todo="name files in PEM form",
        ) from None
    return context


def serve_job(job: JobHandle, settings: Mapping[str, str]) -> None:
    """Serve a job at a port of its own if its settings say so.

    A process that a session has started lives as long as its jobs, also if the program does not
    wait for them.

    :raises ConfigurationError: if there is no server, or it cannot listen there.
    """
    if os.environ.get(JOB_ID_VARIABLE):
        # Not a daemon: the interpreter waits for it.
        threading.Thread(target=_outlive, args=(job,), name="penstock-outlive").start()
        return
    port = REST_PORT.read(settings)
    if port is None or REST_ADDRESS.read(settings) is not None:
        return
    for point in entry_points(group=JOB_SERVERS):
        with contextlib.suppress(ImportError):
            serve: JobServer = point.load()
            serve(job.job_id, port)
            return
    raise ConfigurationError(
        "there is no server for the job",
        where=f"configuration key {REST_PORT.key}",
        todo="pip install 'penstock[server]', or leave the key out",
    )


def _outlive(job: JobHandle) -> None:
    # How it ended is told by whoever waits for its result.
    with contextlib.suppress(PenstockError):
        job.wait()
