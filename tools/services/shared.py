"""Servers for programs that just want one: started when first asked for, ended with the process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from tools.services.server import Facts, Kind, Server, start

_running: dict[str, Server] = {}
_folder: list[Path] = []


def address_of(kind: Kind) -> Facts:
    """Return where a server of this process is; start it if this is the first question."""
    if kind.name not in _running:
        if not _folder:
            _folder.append(Path(tempfile.mkdtemp(prefix="penstock-services-")))
            # Servers that run as users of their own look into their folders below this one.
            _folder[0].chmod(0o755)
            atexit.register(_end)
        _running[kind.name] = start(kind, _folder[0] / kind.name)
    return _running[kind.name].address


def _end() -> None:
    for server in _running.values():
        server.kill()
    shutil.rmtree(_folder[0], ignore_errors=True)
