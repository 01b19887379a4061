"""`penstock cluster`: start, stop and look at a session.

The session is a program of its own: the other commands shall not wait for its packages.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from penstock.cli.session_client import SessionClient
from penstock.errors import ConfigurationError, SessionError

_FACTS, _LOCK = "session.json", "session.lock"
_START_SECONDS = 60.0
_POLL_SECONDS = 0.1


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its actions."""
    parser = commands.add_parser("cluster", help="start, stop or look at a session")
    actions = parser.add_subparsers(metavar="start|stop|status", required=True)
    start = actions.add_parser("start", help="run a session: REST, dashboard, jobs")
    start.add_argument("--port", type=int, help="8081 if left out; 0: any that is free")
    start.add_argument("--address", help="127.0.0.1 if left out; others need a token or TLS")
    start.add_argument("--host", action="append", metavar="NAME", help="a name it is reached by")
    start.add_argument("--token-file", metavar="FILE", help="file with a secret for all requests")
    start.add_argument("--max-running", type=int, metavar="N", help="jobs at the same time")
    start.add_argument("--max-queued", type=int, metavar="N", help="scripts that may wait")
    start.add_argument("--tls-cert", metavar="FILE", help="certificate of the server")
    start.add_argument("--tls-key", metavar="FILE", help="its key")
    start.add_argument("--tls-client-ca", metavar="FILE", help="who signs clients' certificates")
    start.add_argument("--detach", action="store_true", help="return once it answers")
    start.set_defaults(command=start_session)
    stop = actions.add_parser("stop", help="end a session; its jobs go on")
    stop.set_defaults(command=stop_session)
    status = actions.add_parser("status", help="tell whether a session runs, and what it does")
    status.set_defaults(command=show_session)
    for action in (start, stop, status):
        action.add_argument(
            "--state-dir", type=Path, default=_default_folder(), help="what a session keeps"
        )


def _default_folder() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "penstock" / "session"


def start_session(options: argparse.Namespace) -> int:
    """Let this process become a session, or start one in the background."""
    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        raise ConfigurationError(
            "the packages of the server are not installed",
            where="penstock cluster start",
            todo="pip install 'penstock[server]'",
        )
    command = [sys.executable, "-m", "penstock.server.main"]
    command += ["--state-dir", str(options.state_dir.absolute())]
    for name in ("port", "address", "token_file", "max_running", "max_queued", "tls_cert",
                 "tls_key", "tls_client_ca"):  # fmt: skip
        value = getattr(options, name)
        if value is not None:
            command += [f"--{name.replace('_', '-')}", str(value)]
    for host in options.host or ():
        command += ["--host", host]
    sys.stdout.flush()
    if not options.detach:
        os.execvp(command[0], command)
    return _start_detached(command, options.state_dir)


def _start_detached(command: list[str], folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(folder / "session.out", "wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        facts = _facts(folder)
        if facts is not None and facts["pid"] == process.pid:
            print(f"Session with REST and dashboard at {facts['url']}; its state is in {folder}")
            return 0
        time.sleep(_POLL_SECONDS)
    said = (folder / "session.out").read_text(encoding="utf-8", errors="replace").strip()
    raise SessionError("the session does not start", where=str(folder), got=said or "no output")


def stop_session(options: argparse.Namespace) -> int:
    """End a session in good order."""
    facts = _running(options.state_dir)
    SessionClient(facts["url"]).ask("DELETE", "/cluster")
    while _is_held(options.state_dir):
        time.sleep(_POLL_SECONDS)
    print(f"The session at {facts['url']} has ended; its jobs go on.")
    return 0


def show_session(options: argparse.Namespace) -> int:
    """Tell whether a session runs; the exit code is 1 if none does."""
    if not _is_held(options.state_dir):
        print(f"No session runs in {options.state_dir}.")
        return 1
    facts = _running(options.state_dir)
    found = SessionClient(facts["url"]).ask("GET", "/overview")
    print(f"A session runs at {facts['url']} (process {facts['pid']}).")
    for name in ("running", "finished", "cancelled", "failed"):
        print(f"jobs {name}: {found[f'jobs-{name}']}")
    return 0


def _running(folder: Path) -> dict[str, Any]:
    facts = _facts(folder) if _is_held(folder) else None
    if facts is None:
        raise SessionError(
            "no session runs",
            where=str(folder),
            todo="start one: penstock cluster start",
        )
    return facts


def _facts(folder: Path) -> dict[str, Any] | None:
    try:
        facts: dict[str, Any] = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return facts


def _is_held(folder: Path) -> bool:
    """Tell whether a session lives: the system itself takes its lock back when it does not."""
    try:
        handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
