"""Which process a number meant: numbers of processes are given out again."""

from __future__ import annotations

import subprocess
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_ENDED = ("Z", "X")


def started(pid: int) -> str | None:
    """Return when a process was started, as a text that no other process of that number has.

    None if there is no such process, or if it has ended and only its parent has not noticed.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except FileNotFoundError:
        return None if _BOOT.exists() else _asked(pid)
    except ProcessLookupError:
        return None
    # Counted in ticks since the machine was started, hence with the name of that start.
    return None if fields[0] in _ENDED else f"{_BOOT.read_text().strip()} {fields[19]}"


def _asked(pid: int) -> str | None:
    """Ask `ps`, where there is no /proc."""
    command = ["ps", "-o", "state=,lstart=", "-p", str(pid)]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return " ".join(told[1:]) if told and told[0][0] not in _ENDED else None
