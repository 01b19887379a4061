"""The command: start servers, tell where they are, stop them."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tools.services import KINDS, Server, start
from tools.services.server import ServiceError


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.services", description=__doc__)
    parser.add_argument("action", choices=["install", "start", "status", "stop"])
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(KINDS)}; or all")
    parser.add_argument("--folder", type=Path, default=_default_folder(), help="for their data")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in KINDS]
    if unknown:
        parser.error(f"no such server: {', '.join(unknown)}")
    names = options.names or (KINDS if options.action in ("install", "start") else _known(options))
    try:
        for name in names:
            if options.action == "install":
                KINDS[name].install()
            elif options.action == "start":
                start(KINDS[name], options.folder / name)
            elif options.action == "stop":
                _stop(options.folder / name, name)
    except ServiceError as error:
        print(error, file=sys.stderr)
        return 1
    if options.action in ("start", "status"):
        print(json.dumps(_addresses(options), indent=2))
    return 0


def _default_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"penstock-services-{os.getuid()}"


def _known(options: argparse.Namespace) -> list[str]:
    return [name for name in KINDS if (options.folder / name / "server.json").exists()]


def _addresses(options: argparse.Namespace) -> dict[str, object]:
    servers = {name: Server(KINDS[name], options.folder / name) for name in _known(options)}
    return {
        name: {**server.address, "pid": server.pids[-1]}
        for name, server in servers.items()
        if server.pids
    }


def _stop(folder: Path, name: str) -> None:
    if (folder / "server.json").exists():
        Server(KINDS[name], folder).stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
