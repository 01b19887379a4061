"""The process of a session: `penstock cluster start` becomes it.

Exit codes: 0, it was stopped; 1, it could not start.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from penstock.errors import ConfigurationError, PenstockError
from penstock.server.app import make_app
from penstock.server.listening import listen
from penstock.server.safety import Access, read_token
from penstock.server.session.session import Session

#: Tells others where the session is.
_FACTS = "session.json"
_LOCK = "session.lock"
_LOG = "session.log"
#: How long requests may take to end when the server does.
_GRACE_SECONDS = 3


@dataclass(frozen=True)
class SessionOptions:
    """How a session is to run."""

    state_dir: Path
    address: str = "127.0.0.1"
    port: int = 8081
    token: str | None = None
    hosts: tuple[str, ...] = ()
    max_running: int = 8
    max_queued: int = 1000
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_client_ca: str | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a session until it is stopped."""
    try:
        serve(_options(arguments))
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def serve(options: SessionOptions) -> None:
    """Run a session until it gets SIGTERM or SIGINT, or is asked to end.

    :raises ConfigurationError: if it cannot listen, or another session has its folder.
    """
    access = Access.of(
        options.address,
        options.token,
        mutual_tls=options.tls_client_ca is not None,
        hosts=options.hosts,
    )
    folder = options.state_dir
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = _hold(folder)
    listener = listen(options.address, options.port)
    _log_to(folder / _LOG)
    session = Session(folder, max_running=options.max_running, max_queued=options.max_queued)
    server = uvicorn.Server(_config(options, session, access))

    def end(*_: object) -> None:
        server.should_exit = True

    session.on_shut_down = end
    # The server takes signals while it runs, and sends them again to whoever took them before:
    # by default the process would end there, and leave its files behind.
    signal.signal(signal.SIGTERM, end)
    session.start()
    try:
        _tell(folder, options, listener)
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        session.close()
        (folder / _FACTS).unlink(missing_ok=True)
        os.close(lock)


def _config(options: SessionOptions, session: Session, access: Access) -> uvicorn.Config:
    mutual = options.tls_client_ca is not None
    return uvicorn.Config(
        make_app(session, access),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        ssl_certfile=options.tls_cert,
        ssl_keyfile=options.tls_key,
        ssl_ca_certs=options.tls_client_ca,
        ssl_cert_reqs=ssl.CERT_REQUIRED if mutual else ssl.CERT_NONE,
    )


def _hold(folder: Path) -> int:
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise ConfigurationError(
            "another session has this state directory",
            where="penstock cluster start --state-dir",
            got=str(folder),
            todo="stop it with 'penstock cluster stop', or choose another directory",
        ) from None
    return lock


def _tell(folder: Path, options: SessionOptions, listener: socket.socket) -> None:
    """Write down and print where the session is."""
    scheme = "https" if options.tls_cert else "http"
    name = f"[{options.address}]" if ":" in options.address else options.address
    url = f"{scheme}://{name}:{listener.getsockname()[1]}"
    unfinished = folder / f".{_FACTS}"
    unfinished.write_text(json.dumps({"url": url, "pid": os.getpid()}), encoding="utf-8")
    os.replace(unfinished, folder / _FACTS)
    print(f"Session with REST and dashboard at {url}; its state is in {folder}", flush=True)


def _log_to(path: Path) -> None:
    logging.basicConfig(
        filename=path, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )


def _options(arguments: Sequence[str] | None) -> SessionOptions:
    parser = argparse.ArgumentParser(prog="penstock cluster start")
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--address", default=SessionOptions.address)
    parser.add_argument("--port", type=int, default=SessionOptions.port)
    parser.add_argument("--token-file", type=Path)
    parser.add_argument("--host", action="append", default=[])
    parser.add_argument("--max-running", type=int, default=SessionOptions.max_running)
    parser.add_argument("--max-queued", type=int, default=SessionOptions.max_queued)
    parser.add_argument("--tls-cert")
    parser.add_argument("--tls-key")
    parser.add_argument("--tls-client-ca")
    given = parser.parse_args(arguments)
    return SessionOptions(
        given.state_dir.absolute(),
        given.address,
        given.port,
        read_token(given.token_file, "penstock cluster start --token-file"),
        tuple(given.host),
        given.max_running,
        given.max_queued,
        given.tls_cert,
        given.tls_key,
        given.tls_client_ca,
    )


if __name__ == "__main__":
    sys.exit(main())
